"""A figure that an author states is held against the one that was seen."""

import pytest

from harness.checking.running import BlockRun
from harness.checking.statements import statements_about
from harness.domain.own import OwnSettings
from harness.domain.skill import Mark, Part
from harness.domain.verdict import Number
from tests.fakes.run import verdict
from tests.fakes.traces import match, probe, trace, update

FOUR_TIMES = BlockRun(
    trace(probe("quiet", update(matches=[match(consumed=12.0)]))),
    (verdict("accumulation-equals-large-batch", "fail"),),
    OwnSettings(micro_batches=4),
)


def marked(text: str, place: str = "sentence") -> Part:
    given = {"polarity": "wrong", "word": "WRONG", "place": place, "text": text, "line": 1}
    return Part(code="loss.backward()", line=3, mark=Mark.model_validate(given))


@pytest.mark.parametrize(("said", "holds"), [("4 times", True), ("16x", False)])
def test_a_number_in_the_sentence_that_marks_an_example_is_tested(said, holds):
    """Prose above the block, not a comment in it."""
    (seen,) = statements_about(marked(f"❌ WRONG: the gradient is {said} too large"), FOUR_TIMES)

    assert seen.holds is holds


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("❌ WRONG: the learning rate is 16 times too large", "sentence"),
        ("❌ WRONG: a gradient of a batch 16 times larger", "sentence"),
        ("❌ WRONG: gradients 16 times too large", "heading"),
    ],
)
def test_a_number_that_may_be_about_something_else_is_left_alone(text, place):
    """Another quantity, or a heading above several examples."""
    assert statements_about(marked(text, place), FOUR_TIMES) == ()


@pytest.mark.parametrize(("moved", "holds"), [(2, False), (28, True)])
def test_a_schedule_that_is_said_to_move_with_every_update_is_counted(moved, holds):
    updates = [update(index=n) for n in range(28)]
    figures = (Number(name="windows in which it moved", value=moved),)
    said = verdict("scheduler-per-update", "pass").model_copy(update={"numbers": figures})
    seen = BlockRun(
        trace(probe("as-it-is", *updates)), (said,), OwnSettings(micro_batches=1, schedule=True)
    )
    part = Part(
        code="", line=1, mark=None, comments=("stepped after every optimizer step", "a step")
    )
    assert [one.holds for one in statements_about(part, seen)] == [holds]
