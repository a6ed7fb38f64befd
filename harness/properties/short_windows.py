"""The short last window of a pass over the data: what its size may be, and what it was."""

from collections.abc import Iterator

from harness.domain.scenario import Objective
from harness.domain.trace import Match, Trace
from harness.properties.consumption import Account
from harness.properties.figures import close, middle, show
from harness.properties.thresholds import NAMED, Bounds
from harness.properties.windows import Window, of_probe, usual_size

AMISS = 1.5
"""Factor from which its size is too small: means over samples and over micro-batches differ a
little there.
"""

TOO_LARGE = 1.4
"""Factor on its own mean from which it is too large: one batch may hold a third more samples than
is usual, and a sum of three of four over two ranks is 1.5.
"""


def amiss(trace: Trace, seen: Account, bounds: Bounds | None) -> tuple[Window, Match] | None:
    """The first one below the threshold that was divided neither by its own count nor by that of a
    full window, beside full windows that are right. Too small is what no clip can have left: larger
    gradients passed whole.
    """
    if not all(r.right for r in seen.readings):
        return None
    whole = max((r.consumed for r in seen.readings if r.state == "exact"), default=0.0)
    for window, found in aligned(trace, seen.objective):
        if bounds is not None and not bounds.quiet(found.expected_norm):
            continue
        least = window.update.window_size / usual_size(window.probe)
        small = found.ratio < least / AMISS and found.consumed_norm < whole
        if found.ratio > TOO_LARGE or (small and not window.update.clip_calls):
            return window, found
    return None


def loud(trace: Trace, bounds: Bounds) -> Iterator[Window]:
    """Short last windows whose gradient, as backward computed it, is far above the threshold."""
    for window in (w for p in trace.probes for w in of_probe(p) if w.update.short):
        computed = window.update.match("as-computed")
        if computed is not None and bounds.loud(computed.expected_norm):
            yield window


def sizes(trace: Trace, seen: Account) -> str:
    """A remark on those that were divided by another count than their own, which is lawful."""
    found = [
        m.ratio
        for w, m in aligned(trace, seen.objective)
        if abs(m.ratio - 1.0) > w.tolerance
        and not (seen.threshold and close(m.consumed_norm, seen.threshold, NAMED))
    ]
    return f" A short last window arrived at {show(middle(found))} of its size." if found else ""


def aligned(trace: Trace, objective: Objective) -> Iterator[tuple[Window, Match]]:
    """Short last windows that point the true way under this objective."""
    for window in (w for p in trace.probes for w in of_probe(p) if w.update.short):
        found = window.update.match(objective)
        if found is None or found.expected_norm <= 0 or not window.update.window_size:
            continue
        if found.direction_error <= window.tolerance:
            yield window, found
