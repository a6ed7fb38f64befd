"""Who dies with whom: no process outlives the one that answers for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.domain.errors import HarnessFault
from harness.sandbox.jail.report import JailPolicy
from harness.sandbox.pool import Job, JobLimits, Sandbox
from tests.fakes.patience import PATIENCE
from tests.fakes.runs import children, descendants, eventually, facts, is_gone

ROOT = Path(__file__).parents[2]
FOREVER = "wait()"
FAMILY = 4
"""The fork that stands by since a job of one rank, the leader and two ranks."""
NAMING = "import os\naccelerate = os.getppid()\nreport(annex=accelerate)"
"""Runs in the annex, since it names a package."""


@pytest.mark.full
def test_a_zygote_that_died_is_started_again(sandbox):
    """The job that was in flight runs again and nothing is lost."""
    zygote = facts(sandbox.execute(Job(program="import os\nreport(zygote=os.getppid())")))["zygote"]
    future = sandbox.submit(Job(program="wait(1)\nreport(done=True)"))
    assert eventually(lambda: bool(children(zygote)))
    os.kill(zygote, signal.SIGKILL)
    run = future.result()

    assert facts(run) == {"done": True}
    assert run.complete


@pytest.mark.full
def test_the_children_of_a_killed_zygote_die_with_it():
    """Nobody else would end them: it is the kernel that does."""
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as own:
        zygote = facts(own.execute(Job(program="import os\nreport(zygote=os.getppid())")))["zygote"]
        own.submit(Job(program=FOREVER, world_size=2), JobLimits(wall_seconds=600))
        forked = eventually(lambda: len(descendants(zygote)) == FAMILY)
        family = descendants(zygote)
        os.kill(zygote, signal.SIGKILL)
        gone = eventually(lambda: all(is_gone(pid) for pid in family))

    assert forked
    assert gone


@pytest.mark.full
def test_a_zygote_that_dies_three_times_is_a_fault_of_ours():
    """It is never counted against the candidate. (Only an unguarded job can kill its zygote.)"""
    suicide = Job(program="import os\nos.kill(os.getppid(), 9)\nwait()")
    unguarded = JailPolicy(disabled=frozenset({"seccomp"}))
    with (
        Sandbox(worker="tests.fakes.exec_worker", parallel=1) as own,
        pytest.raises(HarnessFault, match="died three times"),
    ):
        own.execute(suicide, policy=unguarded)


def test_closing_leaves_no_process():
    """Jobs in flight end with the sandbox, and say whose fault that was."""
    own = Sandbox(worker="tests.fakes.exec_worker", parallel=1)
    ids = facts(own.execute(Job(program="import os\nreport(zygote=os.getppid())")))
    future = own.submit(Job(program=FOREVER, world_size=2), JobLimits(wall_seconds=60))
    assert eventually(lambda: len(descendants(ids["zygote"])) == FAMILY)
    family = {ids["zygote"], *descendants(ids["zygote"])}
    own.close()

    assert all(is_gone(pid) for pid in family)
    with pytest.raises(HarnessFault, match="closed"):
        future.result()


@pytest.mark.full
def test_an_annex_that_died_is_started_again_with_its_zygote():
    """A zygote without it would let every program wait that needs a package."""
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as own:
        zygote = facts(own.execute(Job(program="import os\nreport(zygote=os.getppid())")))["zygote"]
        annex = facts(own.execute(Job(program=NAMING)))["annex"]
        os.kill(annex, signal.SIGKILL)
        again = facts(own.execute(Job(program=NAMING)))["annex"]

    assert len({zygote, annex, again}) == len(("zygote", "annex", "again"))
    assert is_gone(zygote)


@pytest.mark.full
def test_a_program_in_the_annex_ends_with_its_time_and_the_annex_with_the_sandbox():
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as own:
        annex = facts(own.execute(Job(program=NAMING)))["annex"]
        run = own.execute(Job(program=f"{NAMING}\n{FOREVER}"), JobLimits(wall_seconds=1))
        assert own.settle(PATIENCE)
        left = descendants(annex)
        lives = not is_gone(annex)

    assert run.timed_out
    assert lives
    assert len(left) == len(("the fork that stands by",))
    assert is_gone(annex)


ORPHANED = """
import os, threading
from harness.sandbox.jail.report import JailPolicy
from harness.sandbox.pool import Job, JobLimits, Sandbox
sandbox = Sandbox(worker="tests.fakes.exec_worker", parallel=1)
sandbox.submit(Job(program="wait()", world_size=2), JobLimits(wall_seconds=600))
sandbox.machine()
print("ready", flush=True)
threading.Event().wait()
"""


@pytest.mark.full
def test_a_parent_that_is_killed_leaves_no_process():
    """kill -9 of the parent: the zygote, the leader and the ranks follow."""
    command = [sys.executable, "-c", ORPHANED]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        forked = eventually(lambda: len(descendants(parent.pid)) == 4)
        family = descendants(parent.pid)
        parent.kill()

    assert forked
    assert eventually(lambda: all(is_gone(pid) for pid in family))
