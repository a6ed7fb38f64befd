"""Who decides what: execution, the text, or nobody."""

import json
import re

import pytest

from harness.domain.assessment import Assessment
from harness.domain.verdict import Verdict
from harness.rubric import assess
from harness.rubric.assessing import merge
from harness.rubric.execution import executed
from harness.rubric.judge import NoJudge
from harness.rubric.model import ModelJudge
from tests.rubric.situation import ScriptedModel, criterion, scenario, transcript, verdict

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
    assert states["how-it-works"].reason == "only a reader of the text can tell: give --judge"
    assert excuses == ()


class Finds(ScriptedModel):
    """Finds in a whole answer every statement with certain words in it, and no other."""

    def __init__(self, *words: str, quote: str) -> None:
        super().__init__()
        self.words, self.quote = words, quote

    def complete(self, system, turns, *, max_tokens, tools=()):
        asked = re.findall(r"- id: (.*)\n  statement: (.*)", turns[0].text)
        found = {name: any(word in said for word in self.words) for name, said in asked}
        said = [{"id": name, "found": found[name], "quote": self.quote if found[name] else None}
                for name, _ in asked]  # fmt: skip
        self.replies = [json.dumps({"assessments": said})]
        return super().complete(system, turns, max_tokens=max_tokens)


def test_an_answer_is_assessed_in_the_order_of_the_rubric_with_quotes_and_excuses():
    found = scenario("lightning-clipping")
    runs = [(Verdict(property="clip-before-step", outcome="fail", sentence="no clip acts"),)]
    said = "Call `clip_grad_norm_` at the end of training_step, right before the return."
    model = Finds("excuse: Call clip_grad_norm_ at", "clip_grad_norm_ in training_step", quote=said)

    states, excuses = assess(transcript(said), found, runs, ModelJudge("m", model))

    assert list(states) == [c.id for c in found.rubric]
    assert states["trainer-argument"].decided_by == "execution"
    assert states["manual-clip-in-training-step"].state == "not_met"
    assert states["manual-clip-in-training-step"].quote == said
    assert [(e.excuse[:24], e.quote) for e in excuses] == [("Call clip_grad_norm_ at ", said)]


def test_an_answer_without_words_is_not_read():
    model = ScriptedModel()

    states, excuses = assess(
        transcript(" "), scenario("lightning-clipping"), (), ModelJudge("m", model)
    )

    assert model.asked == []
    assert states["how-it-works"].reason == "the answer has no words"
    assert excuses == ()
