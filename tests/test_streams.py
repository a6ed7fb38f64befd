"""What the process does where its standard streams are not what one expects."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.stored import printing
from harness.domain.answer import AnswerGrade
from harness.domain.stored import GradedAnswer, StoredAnswer
from tests.fakes.bank import FakeBank
from tests.fakes.runs import as_in_a_terminal

ROOT = Path(__file__).resolve().parents[1]

INTERRUPTED_IMPORT = """
import builtins, os, runpy, sys
plain, sent = builtins.__import__, []
def interrupted(name, *rest, **named):
    if name == "harness.cli" and not sent:
        sent.append(os.kill(os.getpid(), int(sys.argv.pop(1))))
    return plain(name, *rest, **named)
builtins.__import__ = interrupted
runpy.run_module("harness", run_name="__main__")
"""


@pytest.fixture
def fake(tmp_path: Path) -> FakeBank:
    return FakeBank(tmp_path).add("alpha").add("beta")


def process(*arguments, **streams) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own; ``streams``: in place of those that are read."""
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(command, cwd=ROOT, text=True, check=False, **given)


def test_a_reader_that_leaves_early_is_no_error(fake):
    """``harness show ID | head -1``: no traceback, no changed exit code."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = process("show", "beta", "--bank", fake.folder, stdout=out)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("in_vain", "ends"), [(True, [False, True, False]), (False, [False] * 3)])
def test_answers_that_nobody_reads_or_keeps_are_not_graded_on(monkeypatch, capsys, in_vain, ends):
    """``harness grade 'answers/*.md' | head -1``: interrupted once; not where ``--out`` keeps them."""
    reader, writer = os.pipe()
    os.close(reader)
    answer = AnswerGrade(file="a.md", error="no answer")
    told = GradedAnswer(StoredAnswer(key="a", agent="", answer=answer))

    def is_interrupted(show) -> bool:
        try:
            show(told)
        except KeyboardInterrupt:
            return True
        return False

    with os.fdopen(writer, "w") as out, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", out)
        shown = printing(
            as_json=True, plain=True, verbose=False, show_program=False, in_vain=in_vain
        )
        with shown as show:
            found = [is_interrupted(show) for _ in ends]

    assert found == ends
    assert ("nobody reads this any more" in capsys.readouterr().err) == in_vain


def test_a_help_page_that_nobody_reads_to_its_end_is_no_error():
    """``harness run --help | head -1``: rich would leave with exit code 1, "something is wrong"."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = process("run", "--help", stdout=out)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("columns", ["40", "80"])
def test_a_help_page_cuts_nothing_off_however_narrow_the_terminal_is(columns):
    """Half a name of an option is no help."""
    done = process("run", "--help", env={**os.environ, "COLUMNS": columns})

    assert done.returncode == 0
    assert "--max-cost" in done.stdout
    assert "…" not in done.stdout


def interrupted(
    number: int, *arguments: str, before: Callable[[], object] = as_in_a_terminal
) -> subprocess.CompletedProcess[str]:
    """The command line in a process that gets a signal while it imports what it needs."""
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, str(int(number)), *arguments],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
        preexec_fn=before,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_end_while_the_command_line_is_imported_is_no_traceback(number):
    """The first half second of every command; ``kill`` and a closed terminal end it as Ctrl-C does."""
    done = interrupted(number)

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.full
def test_a_terminal_that_closes_is_ignored_where_somebody_asked_for_it(fake):
    """``nohup harness run``."""
    ignore = functools.partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)

    done = interrupted(signal.SIGHUP, "list", "--bank", str(fake.folder), before=ignore)

    assert (done.returncode, done.stderr) == (0, "")
    assert "beta" in done.stdout


def test_a_full_disk_behind_standard_output_is_one_sentence(fake):
    """It is nobody's fault here: exit code 2 and no traceback."""
    with Path("/dev/full").open("w") as out:
        done = process("list", "--bank", fake.folder, stdout=out)

    assert done.stderr == "harness: standard output cannot be written: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.full
def test_a_full_disk_behind_standard_error_changes_no_exit_code(fake):
    """Nothing can be said; the code still tells."""
    with Path("/dev/full").open("w") as errors:
        done = process("show", "gamma", "--bank", fake.folder, stderr=errors)

    assert (done.returncode, done.stdout) == (2, "")


def test_standard_input_that_is_closed_is_one_sentence(fake):
    """Python has ``None`` in its place."""
    done = process("grade", "-", "--bank", fake.folder, preexec_fn=functools.partial(os.close, 0))

    assert done.stdout.startswith("-: not graded: standard input is closed; expected ")
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.full
def test_streams_that_are_closed_do_not_end_the_sandbox():
    """``<&- 2>&-``: a pipe of ours would get the number of a standard stream."""
    done = process("doctor", preexec_fn=lambda: [os.close(0), os.close(2)], stderr=None)

    assert done.stdout.rstrip().endswith("Programs can be run here.")
    assert done.returncode == 0


def test_an_ascii_terminal_is_no_reason_to_fail(fake):
    """What cannot be written is written as its code point."""
    fake.edit("beta/scenario.yaml", "title: A loss", "title: Ein Verlust für")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}

    done = process("list", "--bank", fake.folder, env=ascii_only)

    assert done.returncode == 0
    assert "f\\xfcr" in done.stdout
