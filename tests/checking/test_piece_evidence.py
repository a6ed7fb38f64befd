"""What drivers report of pieces, as evidence."""

from harness.checking.facts import SchedulerSeen
from harness.checking.piece_evidence import scheduler


def test_a_warm_up_that_begins_at_nothing_costs_an_update_and_is_no_fault():
    found = scheduler(SchedulerSeen(name="warm", raised=None, rates=(0.0, 0.1)))
    assert (found.faults, len(found.costs)) == ((), 1)
