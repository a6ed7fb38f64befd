"""Loud and quiet windows: where clipping has to act, and where it has to do nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.domain.clip_call import clip_calls
from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.properties.evidence.consumption import (
    Account,
    WindowReading,
    factor_of,
    transported,
)
from harness.properties.evidence.settings import bounds_norm
from harness.properties.evidence.thresholds import NAMED, Bounds, bounds_of
from harness.properties.evidence.windows import Window

OWN_NORM = 0.02
"""Relative difference up to which a clip left its threshold of the norm that it took."""


@dataclass(frozen=True, slots=True)
class Regimes:
    """Windows sorted by the norm of their true gradient, relative to the threshold."""

    account: Account
    """All windows."""
    bounds: Bounds
    """The threshold: the one that clipped windows show, if the scenario accepts it."""
    accepted: Bounds
    """All thresholds that the scenario accepts."""
    loud: tuple[WindowReading, ...]
    """Windows far above the threshold, but for those in which rounding is as large as a clip."""
    quiet: tuple[WindowReading, ...]
    """Windows far below the threshold."""


def regimes(trace: Trace, expectations: Expectations) -> Regimes | str:
    """The windows by regime, or a sentence that says why there are none."""
    account = transported(trace, expectations)
    if account is None:
        return "No full window could be compared with its true gradient."
    bounds, accepted = account.bounds(expectations), bounds_of(expectations)
    if bounds is None or accepted is None:
        return "The scenario asks for no clipping."
    readings = account.readings
    if expectations.unasked:
        readings = tuple(as_its_own(r) for r in readings if r.update.index >= begins(r.window))
        if any(map(by_its_own_norm, readings)):
            account = replace(account, threshold=None)
    came = sizes_at_the_clip(account, readings, expectations)
    return Regimes(
        account,
        bounds,
        accepted,
        tuple(
            r
            for r, size in zip(readings, came, strict=True)
            if bounds.loud(size) and not (below_its_own(r, accepted) or r.is_blunt)
        ),
        tuple(r for r, size in zip(readings, came, strict=True) if bounds.quiet(size)),
    )


def sizes_at_the_clip(
    account: Account, readings: Sequence[WindowReading], expectations: Expectations
) -> list[float]:
    """The norm with which each window came to its clip: the true one, where a message asks for that. A
    program that nobody asked may have divided it first.
    """
    if not expectations.unasked:
        return [r.true for r in readings]
    divided = divided_by_hand(account)
    return [divided * r.met for r in readings]


def as_its_own(reading: WindowReading) -> WindowReading:
    """Clipped, where its one clip left its threshold of whatever norm it took."""
    return replace(reading, state="clipped") if by_its_own_norm(reading) else reading


def begins(window: Window) -> int:
    """From which update on a program calls a clip before each step; 0 where time does not decide."""
    updates = window.rank_trace.updates
    called = [bool(u.clip_calls) for u in updates]
    late = called == sorted(called) and any(called)
    return next(u.index for u in updates if u.clip_calls) if late else 0


def divided_by_hand(account: Account) -> float:
    """By what a program multiplies its gradients before a clip of its own, as what all windows have left
    that this clip leaves alone; 1 where it calls one, which tells the norm that it met.
    """
    if any(r.update.clip_calls for r in account.readings):
        return 1.0
    factor = factor_of([r for r in account.readings if r.state == "shrunk"])
    return min(factor or 1.0, 1.0)


def below_its_own(reading: WindowReading, accepted: Bounds) -> bool:
    """Whether a threshold that moves within what is accepted had nothing to do in this window."""
    limits = [c.limit for c in clip_calls(reading.update) if bounds_norm(c) and c.limit]
    own = bool(limits) and accepted.low < accepted.high and all(map(accepted.accept, limits))
    return own and reading.raw and reading.consumed <= min(limits) * (1.0 + NAMED)


def by_its_own_norm(reading: WindowReading) -> bool:
    """Whether the one clip left its threshold of another norm than the 2-norm."""
    calls = [c for c in clip_calls(reading.update) if bounds_norm(c)]
    if len(calls) != 1 or not calls[0].returned or not calls[0].limit:
        return False
    if reading.update.loss_scale > 1.0 or calls[0].gradients != reading.update.gradients:
        return False
    took, limit = calls[0].returned, calls[0].limit
    another = abs(reading.consumed / limit - 1.0) > OWN_NORM
    return another and limit < took and abs(reading.ratio * took / limit - 1.0) <= OWN_NORM
