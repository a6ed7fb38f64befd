import pytest

from tests.fakes.traces import probe, program, rank, trace, update
from tests.properties.verdicts import on

ID = "no-batch-lost"


def losing(lost, at_end, **fields):
    seen = rank([update(0)], batches_yielded=14, batches_lost=lost, lost_at_end=at_end)
    return trace(probe("plain", ranks=[seen], **fields))


def test_batches_that_all_arrive_pass():
    """Their number is told."""
    verdict = on(ID, losing(0, 0))
    assert verdict.outcome == "pass"
    assert "All 14" in verdict.sentence


def test_a_dropped_tail_fails_as_such():
    """Whether that counts is the scenario's choice."""
    verdict = on(ID, losing(2, 2))
    assert verdict.outcome == "fail"
    assert "at the end of a pass" in verdict.sentence


def test_a_loss_in_the_middle_fails_otherwise():
    """It has another cure."""
    assert "within the pass" in on(ID, losing(3, 0)).sentence


def test_a_tail_in_the_next_pass_fails():
    """Two old micro-batches on top of four."""
    carried = update(2, coefficients=(1.0,) * 6)
    samples = [(60,), (70,), (0,), (10,), (20,), (30,)]
    window = tuple(
        m.model_copy(update={"samples": s})
        for m, s in zip(carried.micro_batches, samples, strict=True)
    )
    seen = probe(
        "plain", update(0), update(1), carried.model_copy(update={"micro_batches": window})
    )
    verdict = on(ID, trace(seen))
    assert verdict.outcome == "fail"
    assert "2 micro-batches of the pass before" in verdict.sentence


def test_a_program_that_stopped_early_lost_nothing():
    """What it did not do because it raised says nothing about its loop."""
    stopped = program("raised", exception="NameError", message="x", line=3)
    assert on(ID, losing(2, 0, program=stopped)).outcome == "inconclusive"


def test_without_updates_it_is_inconclusive():
    """No update, no loss of batches."""
    assert on(ID, trace(probe())).outcome == "inconclusive"


def test_gradients_that_no_backward_made_lose_no_known_batch():
    """``torch.func`` computes them, and the program writes them into ``.grad``."""
    written = update(0, coefficients=(), matches=(), consumed_norm=1.0)
    seen = rank([written], batches_yielded=10, batches_lost=10, lost_at_end=0)
    verdict = on(ID, trace(probe("plain", ranks=[seen])))
    assert verdict.outcome == "inconclusive"
    assert "not known which batches" in verdict.sentence


def test_where_each_batch_is_an_update_no_tail_can_be_in_the_next_pass():
    """What comes on top of the first one was measured before, and not cleared."""
    measured = update(0, coefficients=(1.0, 1.0))
    window = tuple(
        m.model_copy(update={"samples": s})
        for m, s in zip(measured.micro_batches, [(60,), (0,)], strict=True)
    )
    first = measured.model_copy(update={"micro_batches": window})
    alone = [update(i, coefficients=(1.0,)) for i in (1, 2)]
    assert on(ID, trace(probe("plain", first, *alone))).outcome == "pass"


def turns(*, first_is_empty, unused, parts=("judge", "maker")):
    """Three updates of one of two networks."""
    nothing = {"coefficients": (), "matches": (), "consumed_norm": 0.0}
    first = update(0, trains="maker", **(nothing if first_is_empty else {}))
    made = [first, *(update(i, trains="maker") for i in (1, 2))]
    seen = rank(made, batches_yielded=8, unused_forwards=unused)
    return trace(probe("loud", ranks=[seen], parts=parts))


@pytest.mark.parametrize(
    "seen",
    [
        turns(first_is_empty=True, unused=0),
        turns(first_is_empty=False, unused=2),
        turns(first_is_empty=True, unused=2, parts=()),
    ],
)
def test_an_empty_first_step_or_a_measurement_at_the_end_alone_loses_nothing(seen):
    """A scheduler is pleased by the one, and norms are printed after the other."""
    assert on(ID, seen).outcome == "pass"
