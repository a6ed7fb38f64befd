"""What shows that a record cannot be true, and which prints report nothing."""

import numpy as np
import pytest

from harness.domain.event import (
    Collective,
    Event,
    Finished,
    Forward,
    OptimizerStep,
    Printed,
)
from harness.domain.recording import Recording
from harness.oracle.facts import Consumed, ForwardPass, Parameters, RankRun
from harness.oracle.following import overwritten, trained_behind
from harness.oracle.integrity import contradiction
from harness.oracle.program import reported

ALL_REDUCE = Collective(operation="allreduce_", elements=2_000, floating=True, size_bytes=8_000)


def forward(number: int) -> Forward:
    return Forward(
        id=number,
        model="model",
        training=True,
        differentiable=True,
        autocast=None,
    )


def printed(text: str) -> Printed:
    return Printed(stream="stdout", text=text)


def run(*events: Event, poisoned: int | None = None) -> RankRun:
    forwards = {}
    if poisoned is not None:
        nan = np.array([np.nan])
        at = next(i for i, e in enumerate(events) if isinstance(e, Forward) and e.id == poisoned)
        forwards = {poisoned: ForwardPass(poisoned, "model", (nan,), (nan,), {}, None, at, None)}
    return RankRun(events, {}, {}, forwards, [], [], 0, sampled=False)


def between_ranks(traffic: int | None) -> Recording:
    return Recording(probe="quiet", ranks=(), traffic_bytes=traffic)


@pytest.mark.parametrize("events", [(forward(0), forward(1)), ()])
def test_an_honest_record_has_nothing_against_it(events):
    """Forwards in order, and no more bytes than collectives."""
    runs = [run(*events, ALL_REDUCE), run(*events, ALL_REDUCE)]

    assert contradiction(between_ranks(17_000), runs) is None


@pytest.mark.parametrize("ids", [(0, 0), (1, 2), (0, 2)])
def test_a_forward_out_of_turn_was_written_by_somebody_else(ids):
    """Recorded twice, or missing."""
    said = contradiction(between_ranks(None), [run(*map(forward, ids))])

    assert said is not None
    assert "out of turn" in said


def test_bytes_that_no_recorded_collective_sent_contradict_the_record():
    """Sixteen all-reduces on the wire, one in the record."""
    runs = [run(ALL_REDUCE), run(ALL_REDUCE)]

    said = contradiction(between_ranks(16 * 17_000), runs)

    assert said is not None
    assert "the ranks sent each other 272000 bytes" in said
    assert contradiction(between_ranks(None), runs) is None


CHATTER = (forward(0), printed("step 0: checked"), forward(1), printed("step 1: checked"))


def test_a_line_that_every_batch_gets_reports_nothing():
    """Only its number differs."""
    silent = run(*CHATTER, forward(2), Finished(outcome="returned"), poisoned=1)
    aloud = run(*CHATTER[:3], printed("step 1: loss is nan"), forward(2), poisoned=1)

    assert reported(silent) is False
    assert reported(aloud) is True


def test_a_step_that_is_changed_behind_its_back_is_overwritten():
    """By as much again as it moved, by a trifle, and not at all."""
    before, after = {"w": np.zeros(3)}, {"w": np.ones(3)}
    step = OptimizerStep(optimizer=0, type="torch.optim.sgd.SGD", groups=())

    def left(now: Parameters) -> float:
        update = Consumed([], {}, [step], before, after, skipped=False, position=0, loss_scale=1)
        return overwritten(0, RankRun((), before, now, {}, [update], [], 0, sampled=False))

    assert left(after) == 0.0
    assert left({"w": np.ones(3) * 1.01}) == pytest.approx(0.01)
    assert left({"w": np.zeros(3)}) == pytest.approx(1.0)


DOWN = {
    "a second part of the update": ([-0.45, -0.9], True),
    "a part of it taken back": ([0.1, 0.2], True),
    "a bound on one weight": ([0.0, 0.5], False),
    "a decay of weights": ([-0.1, 0.04], False),
}


@pytest.mark.parametrize("case", DOWN)
def test_only_what_goes_along_the_gradient_is_trained_behind_a_step(case):
    """A bound and a decay move parameters as well, and train nothing."""
    change, trains = DOWN[case]
    before, after = {"w": np.zeros(2)}, {"w": np.array([-1.0, -2.0])}
    gradients, now = {"w": np.array([1.0, 2.0])}, {"w": after["w"] + np.array(change)}
    step = OptimizerStep(optimizer=0, type="torch.optim.sgd.SGD", groups=())
    update = Consumed([], gradients, [step], before, after, skipped=False, position=0, loss_scale=1)
    found = trained_behind(0, RankRun((), before, now, {}, [update], [], 0, sampled=False))

    assert (found > 0.0) == trains
