"""The time of a run: what it waits for a processor does not count, what it sleeps does."""

import os
import time
from pathlib import Path

import pytest

from harness.sandbox.deadline import STRETCH, Deadline, ProcessorUse
from tests.fakes.machine import Busy

LIMIT = 10.0


def end_of(machine: Busy) -> float:
    """When a run that goes on for ever is ended, asked as often as its deadline wants it."""
    deadline = Deadline(LIMIT, machine.use, machine.clock)
    while left := deadline.left():
        machine.go_on(left)
    return deadline.elapsed


@pytest.mark.parametrize(
    ("machine", "seconds"),
    [
        (Busy(ran=[1.0], queued=[0.0]), LIMIT),
        (Busy(ran=[0.0], queued=[0.0]), LIMIT),
        (Busy(ran=[0.25], queued=[0.75]), 4 * LIMIT),
        (Busy(ran=[0.25], queued=[0.25]), LIMIT / 0.75),
        (Busy(ran=[0.5, 0.5], queued=[0.5, 0.5]), 2 * LIMIT),
        (Busy(ran=[0.05, 0.05], queued=[0.45, 0.45]), STRETCH * LIMIT),
        (Busy(ran=[0.01], queued=[0.99]), STRETCH * LIMIT),
    ],
    ids=["busy", "asleep", "a quarter", "half asleep", "two at once", "in turn", "hopeless"],
)
def test_a_run_has_its_limit_and_what_it_waits_for_a_processor(machine, seconds):
    """A program that got a quarter of a processor was cut off at a quarter of its time."""
    assert end_of(machine) == pytest.approx(seconds, abs=0.2)


def test_nothing_is_asked_of_the_kernel_before_the_limit():
    """An ordinary run costs one look at the beginning."""
    machine = Busy(ran=[1.0], queued=[0.0])
    deadline = Deadline(LIMIT, machine.use, machine.clock)
    machine.go_on(LIMIT / 2)

    assert deadline.left() == LIMIT / 2
    assert machine.asked == 1


def test_the_kernel_is_not_asked_over_and_over_for_the_last_moments():
    """Each answer halves what is left, down to a pause that is worth a look."""
    machine = Busy(ran=[0.5], queued=[0.5])
    end_of(machine)

    assert machine.asked <= 12


def test_what_was_waited_before_the_run_does_not_count():
    """A fork that stands by has waited already when it gets its job."""
    machine = Busy(ran=[0.0], queued=[0.0])
    machine.waited = 100.0

    assert end_of(machine) == LIMIT


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="no account of it")
def test_the_kernel_says_what_a_process_had():
    """Of this process: it ran, for no longer than its clock says."""
    use = ProcessorUse.of(os.getpid())

    assert 0.0 < use.ran <= time.process_time()
    assert use.queued >= 0.0


def test_a_process_that_is_gone_had_nothing():
    """Its run may have ended a moment ago."""
    assert ProcessorUse.of(2**22 + 1).ran == 0.0
