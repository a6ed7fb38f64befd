from tests.fakes.traces import probe, trace, update
from tests.properties.verdicts import on

ID = "training-mode-kept"


def in_modes(*evaluating):
    """Updates of four micro-batches each, whose models were in evaluation or not."""
    updates = []
    for i, off in enumerate(evaluating):
        one = update(i)
        seen = tuple(m.model_copy(update={"evaluating": off}) for m in one.micro_batches)
        updates.append(one.model_copy(update={"micro_batches": seen}))
    return trace(probe("as-it-is", *updates))


def test_updates_in_training_mode_pass():
    assert on(ID, in_modes(False, False)).outcome == "pass"


def test_an_update_in_evaluation_mode_after_others_fails():
    verdict = on(ID, in_modes(False, False, True))
    assert verdict.outcome == "fail"
    assert "as-it-is, update 2 the model was trained in evaluation mode" in verdict.sentence


def test_a_micro_batch_in_evaluation_mode_of_which_nothing_arrives_is_no_fault():
    one = update(0, coefficients=(1.0, 0.0))
    first, second = one.micro_batches
    seen = (first, second.model_copy(update={"evaluating": True}))
    assert (
        on(ID, trace(probe("p", one.model_copy(update={"micro_batches": seen})))).outcome == "pass"
    )


def test_without_updates_it_is_inconclusive():
    assert on(ID, trace(probe("p"))).outcome == "inconclusive"
