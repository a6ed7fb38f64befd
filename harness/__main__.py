"""``python -m harness``."""

import os
import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from harness.cli import run_command_line  # spawned workers import this module, not the CLI

        code = run_command_line(sys.argv[1:])
    except KeyboardInterrupt:  # before a command has begun
        code = 130
    if code == 130:
        # A thread that still waits for a killed jail would hold the interpreter at its exit.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
