"""Half precision without a GradScaler: the program scales its loss itself, or bfloat16 needs none."""

from dataclasses import dataclass

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.properties.evidence.consumption import WindowReading, account
from harness.properties.evidence.thresholds import Bounds

LARGE = 16.0
"""A factor on the computed gradient that is at least this large is a loss scale, not an average."""


@dataclass(frozen=True, slots=True)
class OwnWay:
    """A program that trains in half precision without a GradScaler, and gets its gradients right."""

    right: tuple[WindowReading, ...]
    """Windows in which a loss scale that was not taken out, or was clipped with, would have shown."""
    scale: float | None
    """The program's own largest loss scale; ``None`` under bfloat16, where there is none."""

    def __str__(self) -> str:
        """How the program went about it."""
        if self.scale is None:
            return "the forward runs in bfloat16, which has the range of float32 and needs no loss scale"
        return f"the program scales its loss itself, by up to {self.scale:.0f}"


def own_way(trace: Trace, expectations: Expectations) -> OwnWay | None:
    """How a program without a GradScaler handled half precision; ``None`` if it used a scaler, or
    if any window consumed something else than the true gradient, clipped where it should be.
    """
    used = any(c.enabled for p in trace.probes for r in p.ranks for c in r.scaler)
    seen = account(trace, expectations)
    if used or seen is None or not all(r.right for r in seen.readings):
        return None
    bounds = seen.bounds(expectations)
    right = tuple(r for r in seen.readings if shows(r, bounds))
    types = {m.autocast for r in seen.readings for m in r.window.own}
    scales = [scale_of(r) for r in seen.readings]
    if not right or None in types:
        return None
    if all(scale >= LARGE for scale in scales):
        return OwnWay(right, max(scales))
    return OwnWay(right, None) if types == {"bfloat16"} and max(scales) < 2.0 else None


def scale_of(reading: WindowReading) -> float:
    """By how much the gradient that backward computed exceeds the true one."""
    computed = reading.update.match("as-computed")
    return computed.expected_norm / reading.true if computed is not None else 0.0


def shows(reading: WindowReading, bounds: Bounds | None) -> bool:
    """Whether a window is right, and would not be with a loss scale left in."""
    if bounds is None:
        return reading.right
    if bounds.loud(reading.true):
        return reading.state == "clipped" and bounds.accept(reading.consumed)
    return bounds.quiet(reading.true) and reading.state == "exact"


def all_finite(trace: Trace, expectations: Expectations) -> bool:
    """Whether the overflow probe ran to its end with finite gradients throughout."""
    probe = trace.probe(expectations.overflow_probe)
    if probe is None or probe.program.outcome not in ("returned", "exited"):
        return False
    finite = all(b.gradients_finite for r in probe.ranks for b in r.backwards)
    return finite and all(u.parameters_finite for r in probe.ranks for u in r.updates)


def skipped_overflow(trace: Trace, expectations: Expectations, *, followed: bool = True) -> bool:
    """Whether a gradient overflowed and no update was made from it; ``followed``: and others were made
    later.
    """
    probe = trace.probe(expectations.overflow_probe)
    if probe is None or probe.program.outcome not in ("returned", "exited"):
        return False
    for rank in probe.ranks:
        lost = [b.after_update for b in rank.backwards if not b.gradients_finite]
        made = [u for u in rank.updates if not u.skipped]
        sound = all(u.consumed_finite and u.parameters_finite for u in made)
        last = {b.after_update: b.gradients_finite for b in rank.backwards}
        sound = sound and all(last.get(u.index, True) for u in made)
        later = any(u.index >= min(lost, default=0) for u in made)
        if not lost or not sound or (followed and not later):
            return False
    return bool(probe.ranks)
