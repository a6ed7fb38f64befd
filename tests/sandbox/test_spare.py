"""The fork that waits for the next job: it takes one, it is like any other, and it can be lost."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.jail.report import JailPolicy
from harness.sandbox.pool import Job, JobLimits, Sandbox
from tests.fakes.patience import PATIENCE
from tests.fakes.runs import SMALL, facts

WHO = Job(program="import os\nreport(pid=os.getpid())")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as running:
        yield running


def waiting(sandbox: Sandbox) -> list[int]:
    """The zygote's children while no job runs."""
    assert sandbox.settle(PATIENCE)
    zygote = sandbox._warm().pid  # noqa: SLF001 - nobody but this test asks
    return [int(p) for p in Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()]


def test_the_second_job_runs_in_the_fork_that_was_waiting(sandbox):
    """And yet another one waits after it."""
    first = facts(sandbox.execute(WHO))["pid"]
    (spare,) = waiting(sandbox)
    second = facts(sandbox.execute(WHO))["pid"]

    assert second == spare != first
    assert second not in waiting(sandbox)


def test_a_spare_that_was_lost_is_replaced(sandbox):
    """It dies while nobody needs it; the next job does not notice."""
    sandbox.execute(WHO)
    (spare,) = waiting(sandbox)
    os.kill(spare, signal.SIGKILL)

    run = sandbox.execute(WHO)

    assert run.complete
    assert facts(run)["pid"] != spare


def test_a_job_with_other_limits_does_not_get_it(sandbox):
    """The limits are part of the jail that the spare is in already."""
    program = "import resource\nreport(limit=resource.getrlimit(resource.RLIMIT_CPU)[0])"
    sandbox.execute(WHO)

    run = sandbox.execute(Job(program=program), JobLimits(cpu_seconds=7))

    assert facts(run) == {"limit": 7}


def test_a_spare_has_the_seed_of_its_job(sandbox):
    """It was forked before anybody knew the seed."""
    program = "import random, torch\nreport(drawn=[random.random(), float(torch.rand(1))])"
    drawn = [facts(sandbox.execute(Job(program=program, seed=seed)))["drawn"] for seed in (1, 1, 2)]

    assert drawn[0] == drawn[1] != drawn[2]


def test_several_ranks_leave_the_spare_alone(sandbox):
    """They are forked by a leader of their own."""
    sandbox.execute(WHO)
    before = waiting(sandbox)

    sandbox.execute(Job(program="", world_size=2))

    assert waiting(sandbox) == before


def test_a_spare_holds_nothing_of_the_run_before_it(sandbox):
    """Where nobody closes descriptors for it, the channel of that run would stay open in it, and the
    run would last until its time is up.
    """
    policy = JailPolicy(disabled=frozenset({"descriptors"}))

    run = sandbox.execute(Job(program=""), SMALL, policy)

    assert not run.inconclusive_timeout
