"""A bad batch that is skipped has to be cleared, by all ranks or by none."""

import pytest

from harness.domain.trace import ProbeTrace, RankTrace
from harness.domain.verdict import Verdict, failed, passed
from harness.properties.judging.bad_batches import convicted
from tests.fakes import traces
from tests.fakes.traces import backward, probe, program, rank, update

FRESH, RANKS = "gradients-start-fresh", "ranks-agree"
SOUND = probe("quiet", update(0), update(1))


def said(spoiled: ProbeTrace, property_: str = FRESH) -> Verdict:
    trace = traces.trace(SOUND).model_copy(update={"spoiled": spoiled})
    return convicted(passed(property_, "Nothing was seen."), trace)


def backwards(finite: str, loss: float = 0.5, after: int = 0) -> RankTrace:
    """One backward for each letter, ``y`` where its gradients were finite."""
    return rank(backwards=tuple(backward(loss, finite=f == "y", after=after) for f in finite))


def spoiled(*ranks: RankTrace, outcome: str = "returned", **fields: object) -> ProbeTrace:
    return probe("spoiled", ranks=ranks, program=program(outcome, **fields))


def test_gradients_that_stay_stop_the_training():
    """A whole window went by, with finite losses, and what was left in .grad spoiled it."""
    verdict = said(spoiled(backwards("yyynnnnnn")))

    assert verdict.outcome == "fail"
    assert "5 more calls of backward" in verdict.sentence


@pytest.mark.parametrize(
    "right",
    [
        spoiled(backwards("yyynyyyyyy")),  # cleared
        spoiled(backwards("yyyn"), outcome="exited"),  # stopped
        spoiled(backwards("yyynnnnnn"), outcome="raised"),
        spoiled(backwards("nnnn")),  # no window went by: nobody had to clear
        spoiled(backwards("yyynnnnnn", loss=float("nan"))),  # the model is spoiled, not .grad
        spoiled(backwards("yyyyyyyyy")),  # repaired
    ],
)
def test_a_loop_may_clear_stop_or_repair(right):
    assert said(right).outcome == "pass"


def bad(size: int) -> ProbeTrace:
    lost = {"consumed_finite": False, "matches": (), "window_size": size}
    return probe("spoiled", update(0, **lost), program=program())


def test_a_window_that_is_larger_than_any_other_holds_what_was_skipped():
    """The same update of the usual size is that of a loop without a guard, which nobody asked for."""
    assert said(bad(8)).outcome == "fail"
    assert said(bad(4)).outcome == "pass"


def on_two(first: int, second: int, *ends: str, **fields: object) -> ProbeTrace:
    ranks = [
        rank([update(i) for i in range(n)], number, ended=end)
        for number, (n, end) in enumerate(zip((first, second), ends, strict=True))
    ]
    outcome = "raised" if "raised" in ends else "returned"
    return spoiled(*ranks, outcome=outcome, **fields)


def test_ranks_skip_together():
    assert said(on_two(2, 3, "returned", "returned"), RANKS).outcome == "fail"
    assert said(on_two(3, 3, "returned", "returned"), RANKS).outcome == "pass"


def test_a_rank_that_leaves_the_others_waiting_is_told_from_one_that_raises():
    lost = {"during": "torch.autograd.graph._engine_run_backward"}

    assert said(on_two(1, 1, "returned", "raised", **lost), RANKS).outcome == "fail"
    assert said(on_two(1, 1, "exited", "raised", **lost), RANKS).outcome == "pass"
    assert said(on_two(1, 1, "raised", "raised"), RANKS).outcome == "pass"


def test_a_bad_batch_changes_no_other_property_and_no_fail():
    trace = traces.trace(SOUND).model_copy(update={"spoiled": spoiled(backwards("yyynnnnnn"))})

    for verdict in (passed("finite-loss", "Fine."), failed(FRESH, "Seen before.")):
        assert convicted(verdict, trace) is verdict
