"""Ctrl-C and worse, with real processes: whatever had begun, none of it stays behind."""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from tests.fakes.bank import FakeBank
from tests.fakes.patience import PATIENCE
from tests.fakes.runs import as_in_a_terminal, children, eventually

ROOT = Path(__file__).resolve().parents[1]
ENDLESS = "while True:\n    pass\n"


@pytest.mark.full
def test_ctrl_c_while_an_answer_is_typed_leaves_no_zygote(tmp_path):
    """It warms up ahead, and nobody waits for it yet. Stopped, it would never end by itself."""
    with harness(tmp_path, "grade", "-") as running:
        running.stdin.write("loss =")
        running.stdin.flush()
        assert eventually(lambda: waiting_in(running.stdin) == 0)
        os.kill(awaited(running, "harness.sandbox.zygote"), signal.SIGSTOP)
        running.send_signal(signal.SIGINT)
        running.wait(PATIENCE)

    assert running.returncode == 130
    assert_nothing_is_left(tmp_path)


@pytest.mark.full
def test_ctrl_c_while_the_zygote_is_waited_for_leaves_nothing(tmp_path):
    """The oracle's process has begun as well then."""
    with harness(tmp_path, "run") as running:
        os.kill(awaited(running, "harness.sandbox.zygote"), signal.SIGSTOP)
        awaited(running, "harness.oracle.worker")
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=PATIENCE)[1]

    assert running.returncode == 130
    assert said == "harness: interrupted; 0 of 1 scenarios were finished\n"
    assert_nothing_is_left(tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_while_programs_run_does_not_wait_for_them(tmp_path, number):
    """They may run for hours. Threads that wait for them end because the jail does."""
    with harness(tmp_path, "run") as running:
        zygote = awaited(running, "harness.sandbox.zygote")
        assert eventually(lambda: len(children(zygote)) > len(("the fork that stands by",)))
        running.send_signal(number)
        said = running.communicate(timeout=PATIENCE)[1]

    assert running.returncode == 130
    assert said == "harness: interrupted; 0 of 1 scenarios were finished\n"
    assert_nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["check", "tests/material/faulty-skill"], "; only what was finished is shown"),
        (
            [
                "explain",
                "tests/material/corpora/dev/d12.md",
                "--scenario",
                "paper-without-clipping",
            ],
            "; no script is written",
        ),
        (
            ["compare", "--agent", "buggy", "--skill", "none", "--skill", "none", "--trials", "1"],
            "; nothing is compared",
        ),
    ],
    ids=lambda part: part[0] if part else "",
)
def test_ctrl_c_is_told_by_every_command(monkeypatch, tmp_path, command, said):
    """Silence would look like a crash."""

    def interrupt(_jobs):
        raise KeyboardInterrupt

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # what is kept needs no instrument
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, command, obj=interrupt)

    assert result.exit_code == 130
    assert result.stderr.endswith(f"harness: interrupted{said}\n")


def test_an_interrupted_check_does_not_say_that_there_are_no_blocks(monkeypatch, tmp_path):
    """There are; none was finished."""

    def interrupt(_jobs):
        raise KeyboardInterrupt

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # what is kept needs no instrument
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, ["check", "tests/material/faulty-skill"], obj=interrupt)

    assert "no block was finished; format: 2 errors" in result.stdout


@pytest.mark.full
def test_a_command_that_is_killed_while_the_zygote_warms_up_leaves_nothing(tmp_path):
    """``kill -9``: nobody tells the zygote, which finds out when it is ready and says so."""
    with harness(tmp_path, "run") as running:
        awaited(running, "harness.sandbox.zygote")
        running.kill()

    assert_nothing_is_left(tmp_path)


@contextmanager
def harness(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command on a bank of programs that never end; its folder for temporary files marks its own."""
    bank = FakeBank(tmp_path).add("alpha", reference=ENDLESS)
    bank.file("alpha/buggy.py").write_text(ENDLESS)
    for lifts in ("nothing", "small gradients"):
        slow = f"lifts: {lifts}\n    reference_seconds: 600\n"
        bank.edit("alpha/scenario.yaml", f"lifts: {lifts}\n", slow)
    temporary(tmp_path).mkdir()
    running = subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments, "--bank", str(bank.folder), "--jobs", "1"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary(tmp_path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_in_a_terminal,  # noqa: PLW1509 - no other thread of a test is under way
    )
    with running:
        try:
            yield running
        finally:
            running.kill()


def temporary(tmp_path: Path) -> Path:
    return tmp_path / "temporary"


def waiting_in(pipe) -> int:
    """Bytes that nobody has read yet."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return count


def awaited(running: "subprocess.Popen[str]", module: str) -> int:
    """The child that runs this module, once it is there."""
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid in children(running.pid) if module in read(pid, "cmdline")]
        return bool(found)

    assert eventually(is_there), f"{module} never came"
    return found[0]


def read(pid: int, what: str) -> str:
    """A file that tells about a process; empty where it is dead or another user's."""
    try:
        return Path(f"/proc/{pid}/{what}").read_text(errors="replace")
    except OSError:
        return ""


def assert_nothing_is_left(tmp_path: Path) -> None:
    """No process that names the folder in an argument or a variable, and no file in it."""
    mark = str(temporary(tmp_path))

    def left() -> list[int]:
        pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        return [p for p in pids if mark in read(p, "cmdline") + read(p, "environ")]

    ended = eventually(lambda: not left())
    for pid in left():
        os.kill(pid, signal.SIGKILL)  # a stopped one would stay for ever
    assert ended
    assert eventually(lambda: not [*temporary(tmp_path).iterdir()])
