"""Who decides what: execution, the text, or nobody."""

import pytest

from harness.domain.assessment import Assessment
from harness.domain.verdict import Verdict
from harness.rubric import assess
from harness.rubric.execution import executed
from harness.rubric.judge import NoJudge
from harness.rubric.lexical import LexicalJudge
from harness.rubric.merging import merge
from tests.rubric.situation import criterion, scenario, transcript, verdict

SAID = Assessment(state="met", quote="I clip.")


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        (["pass"], "met"),
        (["fail"], "not_met"),
        (["pass", "fail"], "not_met"),
        (["inconclusive"], "unassessed"),
    ],
)
def test_of_several_programs_a_failing_one_decides(outcomes, state):
    assert executed(criterion(), [(verdict(outcome=o),) for o in outcomes]) == state


def test_a_property_without_a_verdict_leaves_the_criterion_open():
    two = criterion(properties=("clip-before-step", "clip-global-norm"))

    assert executed(two, [(verdict(),)]) == "unassessed"


@pytest.mark.parametrize(
    ("by", "polarity", "shown", "state", "decided"),
    [
        ("execution", "must", "met", "met", "execution"),
        ("execution", "must", "unassessed", "unassessed", None),
        ("both", "must", "not_met", "not_met", "execution"),
        ("both", "must", "unassessed", "met", "text"),
        ("both", "must_not", "met", "met", "execution"),
        ("both", "must_not", "not_met", "met", "text"),
        ("text", "must", "unassessed", "met", "text"),
    ],
)
def test_execution_goes_first_except_that_a_failure_alone_proves_no_fault(
    by, polarity, shown, state, decided
):
    merged = merge(criterion(by, polarity), shown, SAID)

    assert (merged.state, merged.decided_by) == (state, decided)


def test_what_nobody_reads_stays_open_and_says_why():
    found = scenario("lightning-clipping")
    states, excuses = assess(transcript("Clip in training_step."), found, (), NoJudge())

    assert {s.state for s in states.values()} == {"unassessed"}
    assert states["how-it-works"].reason == "no judge of the text was asked for"
    assert excuses == ()


def test_an_answer_is_assessed_in_the_order_of_the_rubric_with_quotes_and_excuses():
    found = scenario("lightning-clipping")
    runs = [(Verdict(property="clip-before-step", outcome="fail", sentence="no clip acts"),)]
    said = "Call `clip_grad_norm_` at the end of training_step, right before the return."

    states, excuses = assess(transcript(said), found, runs, LexicalJudge())

    assert list(states) == [c.id for c in found.rubric]
    assert states["manual-clip-in-training-step"].state == "not_met"
    assert states["manual-clip-in-training-step"].quote == said
    assert states["trainer-argument"].decided_by == "execution"
    assert [(e.excuse[:24], e.quote) for e in excuses] == [("Call clip_grad_norm_ at ", said)]
