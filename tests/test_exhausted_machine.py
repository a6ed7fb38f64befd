"""What the machine has run out of is the user's to repair: one sentence, exit code 2, no traceback."""

import errno
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.domain.errors import HarnessFault
from tests.fakes.bank import FakeBank

ROOT = Path(__file__).resolve().parents[1]
OF_ANOTHER_PROCESS = "The sandbox process did not warm up:\nTraceback:\n  import torch\n"


def run(bank, error):
    """``harness run`` on a machine whose instruments do not open."""

    @contextmanager
    def broken(_jobs):
        raise error
        yield

    command = ["run", "--bank", str(bank.folder), "--plain"]
    return CliRunner().invoke(app, command, obj=broken)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "too little memory"),
        (HarnessFault(f"{OF_ANOTHER_PROCESS}MemoryError"), "too little memory"),
        (HarnessFault(f"{OF_ANOTHER_PROCESS}ImportError: failed to map segment"), "memory"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (
            HarnessFault(f"{OF_ANOTHER_PROCESS}RuntimeError: {os.strerror(errno.EAGAIN)}"),
            "ulimit -u",
        ),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "too few processes"),
        (
            HarnessFault(f"{OF_ANOTHER_PROCESS}FileNotFoundError: No such file: '/proc/self/task'"),
            "mount -t proc",
        ),
        (HarnessFault("RuntimeError: Unable to find address for: lo"), "ip link set lo up"),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), "ulimit -f"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "/dev/shm"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "ulimit -n"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/a/b"), "/a/b: Permission"),
        (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), "TMPDIR"),
    ],
)
def test_what_the_machine_ran_out_of_is_one_sentence(tmp_path, error, said):
    """Whoever noticed it: this process, or one that it started."""
    result = run(FakeBank(tmp_path).add("alpha"), error)

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


@pytest.mark.parametrize(
    "error",
    [
        KeyError("No space left"),
        FileNotFoundError(2, "No such file", "gone"),
        HarnessFault("MemoryError was expected\nAssertionError"),
    ],
)
def test_a_fault_of_ours_stays_one(tmp_path, error):
    """It is told by what it is in the end, not by words on the way."""
    result = run(FakeBank(tmp_path).add("alpha"), error)

    assert result.exit_code == 3
    assert "this is a fault of the harness" in result.stderr


def test_a_current_folder_that_is_gone_is_one_sentence(tmp_path):
    """Somebody deleted it in another terminal."""
    bank, gone = FakeBank(tmp_path).add("alpha"), tmp_path / "gone"
    gone.mkdir()
    script = (
        f"import os, runpy; os.rmdir({str(gone)!r}); runpy.run_module('harness', None, '__main__')"
    )
    command = [sys.executable, "-c", script, "run", "--bank", str(bank.folder), "--plain"]

    done = process(command, cwd=gone, env={**os.environ, "PYTHONPATH": str(ROOT)})

    assert (
        done.stderr
    ) == "harness: the current folder does not exist any more: change to one that does\n"
    assert done.returncode == 2


@pytest.mark.parametrize(
    "megabytes", [32, *(pytest.param(most, marks=pytest.mark.full) for most in (120, 640))]
)
def test_a_tiny_limit_of_memory_is_one_sentence(tmp_path, megabytes):
    """Before the command line is imported, before torch is, and in the middle of its warm-up."""
    size = megabytes << 20
    bank = FakeBank(tmp_path).add("alpha")
    command = [sys.executable, "-m", "harness", "run", "--bank", str(bank.folder), "--plain"]

    done = process(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))

    assert done.returncode == 2
    assert "ulimit -v" in done.stderr.rstrip().rpartition("\n")[2]


BRIEF = """
import resource, signal, sys
from harness.cli import run_command_line
sys.executable = sys.argv.pop(1)
signal.signal(signal.SIGXCPU, lambda *_: None)
resource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))
code = run_command_line(sys.argv[1:])
resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
sys.exit(code)
"""
"""This process survives: what it starts has no such handler. Nor has Python once it ends, so the limit
is lifted before.
"""


@pytest.mark.full
def test_a_limit_of_processor_time_is_one_sentence(tmp_path):
    """The kernel kills a process that comes to it, and nobody gets to say why."""
    bank, endless = FakeBank(tmp_path).add("alpha"), tmp_path / "python"
    endless.write_text("#!/bin/sh\nwhile :; do :; done\n")  # however fast the machine is
    endless.chmod(0o755)
    options = ["--bank", str(bank.folder), "--plain"]

    done = process([sys.executable, "-c", BRIEF, str(endless), "run", *options])

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "ulimit -t" in done.stderr


NOWHERE = (
    ("mount -t tmpfs none /proc", "unshare -m", "mount -t proc"),
    (":", "unshare -n", "ip link"),
)


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of one's own take root")
@pytest.mark.parametrize(("before", "apart", "said"), NOWHERE)
def test_a_machine_without_proc_or_a_loopback_device_is_told_so(tmp_path, before, apart, said):
    """By a process that the harness starts, whose last words these are."""
    probe = [*apart.split(), "sh", "-c", before]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("no namespaces can be had here")
    bank = FakeBank(tmp_path).add("alpha").folder
    command = f"{before} && exec {sys.executable} -m harness run --plain --bank {bank}"

    done = process([*apart.split(), "sh", "-c", command])

    assert done.returncode == 2
    assert said in done.stderr.rstrip().rpartition("\n")[2]


def test_a_run_leaves_nothing_in_the_folder_for_temporary_files(tmp_path):
    """Neither does torch, which makes a folder for what it compiles as soon as it is imported."""
    bank, place = FakeBank(tmp_path).add("alpha").folder, tmp_path / "temporary"
    place.mkdir()
    command = [sys.executable, "-m", "harness", "run", "--plain", "--bank", str(bank)]

    process(command, env={**os.environ, "TMPDIR": str(place)})

    assert not [*place.iterdir()]


def process(command, **how):
    given = {"cwd": ROOT, **how}
    return subprocess.run(
        command, text=True, capture_output=True, check=False, timeout=120, **given
    )
