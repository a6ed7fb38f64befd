"""What evidence does to a claim."""

from dataclasses import replace

import pytest

from harness.checking.evidence import Evidence, Finding, decide
from harness.domain.skill import Mark, Polarity

FAULT = Evidence(faults=(Finding("It is broken."),), merits=(Finding("It runs far."),))
COST = Evidence(costs=(Finding("It bends."),), merits=(Finding("It runs far."),))
MERIT = Evidence(merits=(Finding("It runs far."),))


def mark(polarity: Polarity) -> Mark:
    return Mark(polarity=polarity, word="X", place="comment", text="X", line=1)


@pytest.mark.parametrize(
    ("polarity", "seen", "status"),
    [
        ("right", FAULT, "fails"),
        ("right", COST, "holds"),
        ("right", MERIT, "holds"),
        ("better", Evidence(), "inconclusive"),
        ("wrong", FAULT, "holds"),
        ("wrong", COST, "holds"),
        ("suboptimal", COST, "holds"),
        ("wrong", MERIT, "inconclusive"),
    ],
)
def test_only_a_fault_refutes_a_right_example_and_anything_bears_out_a_wrong_one(
    polarity, seen, status
):
    assert decide(mark(polarity), seen).status == status


def test_a_fault_of_an_example_without_a_mark_is_a_fault_found():
    decision = decide(None, FAULT)
    assert (decision.status, decision.sentence) == ("fault", "It is broken.")


def test_what_words_around_an_example_may_warn_of_is_no_fault_found():
    decision = decide(None, FAULT, warned=True)
    assert decision.status == "runs"
    assert [o.sentence for o in decision.observations] == ["It is broken."]


def test_what_was_not_run_is_never_a_failing_claim():
    decision = decide(mark("right"), Evidence(not_run="no such name"))
    assert (decision.status, decision.sentence) == ("cannot-be-run", "no such name")


@pytest.mark.parametrize("claim", [None, mark("right"), mark("wrong")])
def test_training_that_ended_by_no_fault_of_its_authors_decides_nothing(claim):
    seen = Evidence(merits=(Finding("It runs far."),), until="KeyError: 'x'")

    decision = decide(claim, seen)

    assert decision.status == "inconclusive"
    assert decision.sentence == "It trains, and ends before its end: KeyError: 'x'"


def test_a_fault_counts_however_training_ended():
    assert decide(None, replace(FAULT, until="KeyError: 'x'")).status == "fault"
