"""How tests of the sandbox read a raw recording, and wait for what happens elsewhere."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.sandbox.frames import Json
from harness.sandbox.jail.report import GuardName, JailPolicy
from harness.sandbox.pool import Job, JobLimits, RawRecording, Sandbox
from tests.fakes.patience import PATIENCE

SMALL = JobLimits(
    wall_seconds=20,
    memory_bytes=256 << 20,
    file_bytes=1 << 20,
    scratch_bytes=4 << 20,
    open_files=64,
)
"""Enough for a small program, and soon reached by a greedy one."""


def run(
    sandbox: Sandbox, program: str, *disabled: GuardName, ranks: int = 1
) -> list[dict[str, Json]]:
    """What a program reported on each rank, under small limits."""
    policy = JailPolicy(disabled=frozenset(disabled))
    done = sandbox.execute(Job(program=program, world_size=ranks), SMALL, policy)
    return [facts(done, rank) for rank in range(ranks)]


def need(sandbox: Sandbox, *guards: GuardName) -> None:
    """Skip a test on a machine that does not offer these guards, and say why."""
    for guard in sandbox.machine().guards:
        if guard.name in guards and not guard.on:
            pytest.skip(f"{guard.name}: {guard.detail}")


def facts(run: RawRecording, rank: int = 0) -> dict[str, Json]:
    """Everything that a program reported on one rank, later reports over earlier ones."""
    found: dict[str, Json] = {}
    for frame in run.ranks[rank].frames:
        found.update(frame.data)
    return found


def eventually(claim: Callable[[], bool]) -> bool:
    """Whether a claim becomes true in the end: a busy machine takes its time to start torch."""
    deadline = time.monotonic() + PATIENCE
    while not claim():
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


def as_in_a_terminal() -> None:
    """For ``preexec_fn``: whoever runs the tests in the background has signals ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def in_a_fork(what: Callable[[], object]) -> str:
    """What it returns there, as text; nothing if it raises."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(what()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        return pipe.read()


def is_gone(pid: int) -> bool:
    """Whether no process has this number, or only a dead one that nobody has buried yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def children(pid: int) -> set[int]:
    """The living children of a process, whichever of its threads made them."""
    try:
        lists = list(Path(f"/proc/{pid}/task").glob("*/children"))
        return {int(child) for path in lists for child in path.read_text().split()}
    except (FileNotFoundError, ProcessLookupError):
        return set()


def descendants(pid: int) -> set[int]:
    """Children, their children and so on."""
    return {each for child in children(pid) for each in {child, *descendants(child)}}
