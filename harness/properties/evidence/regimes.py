"""Loud and quiet windows: where clipping has to act, and where it has to do nothing."""

from dataclasses import dataclass

from harness.domain.clip_call import clip_calls
from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.properties.evidence.consumption import Account, WindowReading, transported
from harness.properties.evidence.settings import bounds_norm
from harness.properties.evidence.thresholds import NAMED, Bounds, bounds_of


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
    return Regimes(
        account,
        bounds,
        accepted,
        tuple(
            r
            for r in account.readings
            if bounds.loud(r.met) and not (below_its_own(r, accepted) or r.is_blunt)
        ),
        tuple(r for r in account.readings if bounds.quiet(r.met)),
    )


def below_its_own(reading: WindowReading, accepted: Bounds) -> bool:
    """Whether a threshold that moves within what is accepted had nothing to do in this window."""
    limits = [c.limit for c in clip_calls(reading.update) if bounds_norm(c) and c.limit]
    own = bool(limits) and accepted.low < accepted.high and all(map(accepted.accept, limits))
    return own and reading.raw and reading.consumed <= min(limits) * (1.0 + NAMED)
