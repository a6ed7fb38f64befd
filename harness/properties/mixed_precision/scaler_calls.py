"""Calls on a GradScaler, one by one: what it refused, and what came in another order than unscale_,
step, update.
"""

from collections.abc import Iterator
from itertools import pairwise

from harness.domain.trace import ProbeTrace, RankTrace, ScalerSeen
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number

ID = "scaler-protocol"

ALREADY = "unscale_() has already been called"
"""torch's message for a second ``unscale_`` in one window."""

COMPLAINTS = (
    ALREADY,
    "unscale_() is being called after step()",
    "step() has already been called since the last update()",
    "No inf checks were recorded",
    "_scale is None",
    "Attempting to unscale FP16 gradients",
)
"""torch's messages for calls on a GradScaler in the wrong order."""

NO_ORDER = "must be a Tensor"
"""torch's message for a loss that is no tensor; it says nothing about the order of calls."""


def complained(probe: ProbeTrace) -> Verdict | None:
    """A fail when the scaler itself raised."""
    calls = [
        c for r in probe.ranks for c in r.scaler if c.enabled and not refused_in_vain(c, probe)
    ]
    said = [c.raised for c in calls if c.raised is not None]
    program = probe.program
    text = program.message or ""
    if program.outcome == "raised" and (
        any(c in text for c in COMPLAINTS) or "GradScaler" in (program.during or "")
    ):
        said.append(text)
    said = [text for text in said if NO_ORDER not in text]
    if not said:
        return None
    return failed(
        ID,
        f"In {probe.probe} the GradScaler refused: {said[0].strip().rstrip('.')}. Once a window: "
        "unscale_ (if you clip), step, update, in this order.",
        number("complaints", len(said), probe.probe),
    )


def refused_in_vain(call: ScalerSeen, probe: ProbeTrace) -> bool:
    """Whether a second ``unscale_`` raised without effect, and the program went on and ended
    normally.
    """
    done = call.method == "unscale_" and ALREADY in (call.raised or "")
    return done and probe.program.outcome in ("returned", "exited")


def out_of_order(probe: ProbeTrace, *, skips: bool) -> Verdict | None:
    """A fail on the first call that breaks the order.

    ``skips``: the program skips what overflows, so it may step without the scaler, if it always does.
    """
    ended = probe.program.outcome in ("returned", "exited")
    for rank, calls in of_each_scaler(probe):
        steps = unscales = made = 0
        methods = {c.method for c in calls}
        for call in calls:
            steps += call.method == "step"
            unscales += call.method == "unscale_"
            if call.method != "update":
                continue
            went_past, made = call.after_update > made, call.after_update
            by_hand = skips and went_past and "step" not in methods
            if not steps and not by_hand and not overflowed(rank, call):
                return (
                    past_the_scaler(probe, call) if went_past else too_soon(probe, call, unscales)
                )
            if steps and unscales > steps:
                return broken(
                    probe,
                    call,
                    f"unscale_() was called {unscales} times for {count(steps, 'step')}",
                )
            steps = unscales = 0
        if ended and "step" in methods and "update" not in methods:
            return broken(probe, calls[-1], "step() was called and update() never")
    return None


def of_each_scaler(probe: ProbeTrace) -> Iterator[tuple[RankTrace, list[ScalerSeen]]]:
    """The calls on each enabled scaler of each rank, in order."""
    for rank in probe.ranks:
        calls = [c for c in rank.scaler if c.enabled and not refused_in_vain(c, probe)]
        for scaler in dict.fromkeys(c.scaler for c in calls):
            yield rank, [c for c in calls if c.scaler == scaler]


def between_optimizers(probe: ProbeTrace) -> Verdict | None:
    """A fail when the scale may change while gradients of the same losses wait for another optimizer."""
    for _, calls in of_each_scaler(probe):
        behind = [call for before, call in pairwise(calls) if before.method == "update"]
        waiting = [call for call in behind if call.method in ("step", "unscale_")]
        renewed = sum(call.method == "scale" for call in behind)
        if renewed and len(waiting) >= renewed:  # a step for a rest that is none comes less often
            return broken(
                probe,
                waiting[0],
                "update() was called before the last step() on gradients of the same losses: where the "
                "scale changes there, these are divided by another scale than theirs",
            )
    return None


def overflowed(rank: RankTrace, call: ScalerSeen) -> bool:
    """Whether gradients were not finite, so that skipping the step was right."""
    return any(
        not b.gradients_finite for b in rank.backwards if b.after_update == call.after_update
    )


def past_the_scaler(probe: ProbeTrace, call: ScalerSeen) -> Verdict:
    """The fail for an optimizer that steps, and not by the scaler."""
    where = f"{probe.probe}, update {call.after_update - 1}"
    return failed(
        ID,
        f"In {where} the optimizer stepped and scaler.update() followed, without scaler.step(): a step "
        "past the scaler is not skipped when gradients overflow. Call scaler.step(optimizer) instead of "
        "optimizer.step(), then scaler.update().",
        number("loss scale", call.scale_before, where),
        number("updates before it", call.after_update, probe.probe),
    )


def too_soon(probe: ProbeTrace, call: ScalerSeen, unscales: int) -> Verdict:
    """The fail for a scale that moves, or is forgotten, before the step."""
    forgotten = (
        ", and it forgets the unscale_() before it, so that step() divides once more"
        if unscales
        else ""
    )
    what = (
        "update() was called before step(): the scale may change while gradients of the old one wait "
        f"for the step{forgotten}"
    )
    return broken(probe, call, what)


def broken(probe: ProbeTrace, call: ScalerSeen, what: str) -> Verdict:
    """The fail for calls in the wrong order."""
    return failed(
        ID,
        f"In {probe.probe}, after {count(call.after_update, 'update')}, {what}. Call unscale_, "
        "step and update once a window, in this order.",
        number("loss scale", call.scale_before, probe.probe),
        number("updates before it", call.after_update, probe.probe),
    )
