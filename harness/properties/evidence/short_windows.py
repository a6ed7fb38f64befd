"""The short last window of a pass over the data: what size and direction its gradient may have, and
which it had.
"""

from collections.abc import Iterator

from harness.domain.scenario import Objective
from harness.domain.trace import Match, Trace
from harness.properties.evidence.consumption import Account
from harness.properties.evidence.figures import close, middle, show, spread
from harness.properties.evidence.thresholds import NAMED, Bounds
from harness.properties.evidence.windows import Window, of_probe, usual_size

AMISS = 1.5
"""The gradient is too small when it falls below the smaller lawful size by this factor; less is the
difference between a mean over samples and one over micro-batches.
"""

TOO_LARGE = 1.4
"""The gradient is too large when it exceeds its own mean by this factor. One batch may hold a third
more samples than usual; three of four micro-batches summed over two ranks make 1.5.
"""


EVEN = 0.05
"""Relative spread up to which weights are the same: half precision rounds them."""


def amiss(trace: Trace, seen: Account, bounds: Bounds | None) -> tuple[Window, Match] | None:
    """The first short window below the threshold that was divided neither by its own number of
    micro-batches nor by that of a full window; ``None`` unless all full windows are right. No clip
    makes a gradient too small where larger ones passed whole.
    """
    if not all(r.right for r in seen.readings):
        return None
    whole = max((r.consumed for r in seen.readings if r.state == "exact"), default=0.0)
    for window, found in aligned(trace, seen.objective):
        if bounds is not None and not bounds.quiet(found.expected_norm):
            continue
        least = min(1.0, window.update.window_size / usual_size(window.probe))  # of another loop
        small = found.ratio < least / AMISS and found.consumed_norm < whole
        called = bounds is None and bool(window.update.clip_calls)
        if found.ratio > TOO_LARGE or (small and not called):
            return window, found
    return None


def uneven(trace: Trace, seen: Account) -> tuple[Window, tuple[float, ...]] | None:
    """The first short window whose micro-batches weigh neither the same each nor as many samples as
    they hold, though all that backward computed arrived, with these weights; ``None`` unless all full
    windows are right.
    """
    if seen.objective == "as-computed" or not all(r.right for r in seen.readings):
        return None
    for window in (w for p in trace.probes for w in of_probe(p) if w.update.short):
        weights = tuple(m.weight for m in window.own if m.weight is not None)
        if len(weights) < max(2, len(window.own)) or not arrived(window):
            continue
        per_sample = [w / max(1, m.real_samples) for w, m in zip(weights, window.own, strict=True)]
        if min(map(spread, (weights, per_sample))) > EVEN and not true_in_some_way(window):
            return window, weights
    return None


def arrived(window: Window) -> bool:
    """Whether the optimizer consumed, up to a factor, what backward computed."""
    computed = window.update.match("as-computed")
    return computed is not None and computed.direction_error <= window.tolerance


def true_in_some_way(window: Window) -> bool:
    """Whether the gradient points in the true direction under some objective, or another loss than
    the workload's was trained on.
    """
    others = [m for m in window.update.matches if m.objective != "as-computed"]
    own_loss = any((m.objective_error or 0.0) > window.tolerance + EVEN for m in window.own)
    return own_loss or any(m.direction_error <= window.tolerance for m in others)


def loud(trace: Trace, bounds: Bounds) -> Iterator[Window]:
    """Short last windows whose gradient, as backward computed it, is far above the threshold."""
    for window in (w for p in trace.probes for w in of_probe(p) if w.update.short):
        computed = window.update.match("as-computed")
        if computed is not None and bounds.loud(computed.expected_norm):
            yield window


def of_another_size(trace: Trace, seen: Account, bounds: Bounds) -> list[Window]:
    """Windows of the same optimizer's gradients with more or fewer micro-batches than usual, not at the
    end of a pass, which no clip was called in and which arrived whole, far above the threshold.
    """
    usual = {(r.update.gradients, r.update.optimizer, r.update.trains) for r in seen.readings}
    return [
        window
        for probe in trace.probes
        for window in of_probe(probe)
        if window.update.window_size not in (0, usual_size(probe))
        and not (window.update.short or window.update.clip_calls or window.update.beside)
        and {(window.update.gradients, window.update.optimizer, window.update.trains)} == usual
        and bounds.loud(window.update.consumed_norm)
        and arrived(window)
    ]


def sizes(trace: Trace, seen: Account) -> str:
    """A remark on short windows with another divisor than their own number, which is lawful."""
    found = [
        m.ratio
        for w, m in aligned(trace, seen.objective)
        if abs(m.ratio - 1.0) > w.tolerance
        and not (seen.threshold and close(m.consumed_norm, seen.threshold, NAMED))
    ]
    return f" A short last window arrived at {show(middle(found))} of its size." if found else ""


def aligned(trace: Trace, objective: Objective) -> Iterator[tuple[Window, Match]]:
    """Short windows whose gradient points in the true direction under this objective."""
    for window in (w for p in trace.probes for w in of_probe(p) if w.update.short):
        found = window.update.match(objective)
        if found is None or found.expected_norm <= 0 or not window.update.window_size:
            continue
        if found.direction_error <= window.tolerance:
            yield window, found
