"""The command line: parse arguments, call one function, print, choose the exit code.

One file a family of commands, imported when one of them is called; imports of a command wait until
it needs them. So ``harness list`` answers at once.
"""

import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from harness.cli.app import app

__all__ = ["app", "run_command_line"]


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an ASCII terminal is no reason to fail
    return int(typer.main.get_command(app).main(list(arguments), "harness", standalone_mode=False))
