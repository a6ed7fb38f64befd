"""Clips that a program computes itself and that bound something else than the norm of the gradient.

Their factor is a number over some measure of the gradient. Where that measure is the norm of all, what
is left has one norm in every window, and it is a clip like any other. Where another measure times the
factor is one number, while the norms that are left differ, that one was taken.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

from harness.domain.clip_call import clip_calls
from harness.domain.own import BOUNDS, CLIPS, OwnSettings
from harness.domain.scenario import PropertyRule
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.consumption import FEW, WindowReading, transported
from harness.properties.evidence.figures import count, number, show, spread
from harness.properties.evidence.settings import own_threshold

ID = "clip-global-norm"

ACTED = 0.99
"""A clip acted where it left less than this."""

SAME = 2e-3
"""Spread up to which a product is one number."""

DIFFER = 0.2
"""Spread of the norms that are left from which on they have none in common."""

OVER = 1.01
"""A norm up to so many times a threshold is at it."""

INACTIVE = "clip-inactive-when-small"

NORMALISES = "it brings every gradient to one norm, and calls that no clip"
FOLLOWS = "its threshold follows the run"


def bounds_another(
    trace: Trace, settings: OwnSettings, allowed: Sequence[PropertyRule]
) -> tuple[Verdict, ...]:
    """A fail for a clip by another measure than the norm; empty where there is none."""
    judged = settings.clip is None and ID not in {rule.id for rule in allowed}
    judged = judged and says_that_it_clips(trace)
    seen = transported(trace, settings.expectations) if judged else None
    acted = [r for r in (seen.readings if seen else ()) if r.aligned and 0.0 < r.ratio < ACTED]
    if len(acted) < FEW or spread([r.consumed for r in acted]) < DIFFER:
        return ()
    what = next((name for name, sizes in _measures(acted) if _is_one(acted, sizes)), None)
    if what is None or spread([r.ratio for r in acted]) < DIFFER:
        return ()
    first = acted[0]
    said = failed(
        ID,
        f"In {count(len(acted), 'window')} the gradient was scaled by a number over {what}: in "
        f"{first.where} norm {show(first.consumed)} was left of {show(first.true)}, and in others "
        f"{show(min(r.consumed for r in acted))} to {show(max(r.consumed for r in acted))}. Divide by "
        "the 2-norm of the whole gradient.",
        number("smallest norm that was left", min(r.consumed for r in acted)),
        number("largest norm that was left", max(r.consumed for r in acted)),
    )
    return (said,)


def says_that_it_clips(trace: Trace) -> bool:
    """Whether a word of its text does."""
    texts = {probe.program.source for probe in trace.probes}
    return any(word.search(text) for text in texts for word in (CLIPS, BOUNDS))


def by_design(trace: Trace, settings: OwnSettings) -> tuple[PropertyRule, ...]:
    """What a program may do to small gradients that does not set out to leave them alone."""
    if settings.clip_moves:  # now and then it has nothing to do
        meant = (INACTIVE, ID) if _are_bounded(trace) else (INACTIVE,)
        return tuple(PropertyRule(id=name, level="allowed", reason=FOLLOWS) for name in meant)
    found = None if says_that_it_clips(trace) else own_threshold(trace, settings.expectations)
    if found is None:
        return ()
    return (PropertyRule(id=INACTIVE, level="allowed", reason=NORMALISES),)


def _are_bounded(trace: Trace) -> bool:
    """Whether every update before which a clip was called consumed no more than its threshold."""
    updates = [u for probe in trace.probes for rank in probe.ranks for u in rank.updates]
    limits = [(u, [c.limit or 0.0 for c in clip_calls(u) if c.bounds]) for u in updates]
    return all(u.consumed_norm <= OVER * own[-1] for u, own in limits if own)


def _is_one(acted: Sequence[WindowReading], sizes: Sequence[float]) -> bool:
    """Whether the factor of each window is one number over its size."""
    products = [r.ratio * size for r, size in zip(acted, sizes, strict=True)]
    return min(products) > 0.0 and spread(products) <= SAME


def _measures(acted: Sequence[WindowReading]) -> Iterator[tuple[str, list[float]]]:
    """What people divide by for the norm of the gradient, in each window."""
    yield "the square of its norm", [r.true**2 for r in acted]
    norms = [[p.expected_norm for p in r.match.parameters] for r in acted]
    yield "the root of the sum of its parts' norms", [math.sqrt(sum(of)) for of in norms]
    parts = min(map(len, norms))
    if parts < max(map(len, norms)):
        return
    for of in (norms, [row[::-1] for row in norms]):
        squares = [[*accumulate(norm**2 for norm in row)] for row in of]
        first_is_largest = any(row[0] == max(row) for row in of)  # which may be what is meant
        for kept in range(1 + first_is_largest, parts):
            what = f"the norm of {kept} of {parts} parameters"
            yield what, [math.sqrt(row[kept - 1]) for row in squares]
