"""The worker that only runs the program, with an import of lightning that waits for three programs."""

import functools
import mmap
import os
import sys
import time

from harness.sandbox.channel import Channel
from harness.sandbox.job import Job
from harness.sandbox.leader import Work
from tests.fakes import exec_worker
from tests.fakes.patience import PATIENCE

PROGRAMS = 3
"""So many have to run before the import goes on."""

_begun = mmap.mmap(-1, 1)  # shared with every fork


class Waiting:
    """First of the finders: it finds nothing, and takes its time for one name."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Wait for others to run."""
        end = time.monotonic() + PATIENCE
        while name == "lightning" and _begun[0] < PROGRAMS:
            if time.monotonic() > end:
                raise ImportError("no program ran while this was imported")
            os.sched_yield()


def warm_up() -> None:
    """In the sandbox alone: who reads ``PROGRAMS`` in a test goes on importing as usual."""
    sys.meta_path.insert(0, Waiting)


def begin(channel: Channel) -> Work:
    """Nothing to prepare."""
    work = exec_worker.begin(channel)
    return functools.partial(_work, work)


def _work(work: Work, job: Job, rank: int, world_size: int) -> None:
    _begun[0] += 1
    work(job, rank, world_size)
