"""Of a program with several optimizers the updates of those that it clips for: the others bound nothing,
and nobody misses that. A clip that was copied, and still names the part that was clipped before, is no
choice.
"""

from collections.abc import Sequence
from itertools import pairwise

from harness.domain.clip_call import ClipCall, clip_calls
from harness.domain.scenario import PropertyRule
from harness.domain.trace import Trace, Update
from harness.domain.verdict import Verdict, failed
from harness.properties.clipping.clip_per_group import ID
from harness.properties.evidence.figures import close, count, number
from harness.properties.evidence.settings import bounds_its_norm
from harness.properties.evidence.thresholds import NAMED
from harness.properties.judging.apart import only

OFTEN = 3
"""In so many updates a second clip of the same part is no accident."""


def where_clipped(trace: Trace) -> Trace:
    """The trace without the updates of optimizers before whose steps no norm was ever bounded."""
    updates = [u for probe in trace.probes for rank in probe.ranks for u in rank.updates]
    clipped = {u.optimizers for u in updates if bounds_its_norm(u)}
    if not clipped or all(u.optimizers in clipped for u in updates):
        return trace
    return Trace(
        probes=tuple(only(probe, lambda u: u.optimizers in clipped) for probe in trace.probes)
    )


def copied_clip(trace: Trace, allowed: Sequence[PropertyRule]) -> tuple[Verdict, ...]:
    """A fail where a part of what each update consumes is clipped twice in a row, and the rest never."""
    for probe in () if ID in {rule.id for rule in allowed} else trace.probes:
        clipping = [u for u in probe.updates if clip_calls(u)]
        same = [_again(u) for u in clipping]
        if len(same) < OFTEN or not all(same):
            continue
        part = clip_calls(clipping[0])[0].gradients
        rest = max(u.gradients or 0 for u in clipping) - part
        found = failed(
            ID,
            f"In {probe.probe} the same {count(part, 'gradient')} were clipped twice in a row before "
            f"{count(len(same), 'update')}, and the other {rest} never: the second clip was "
            "meant for these. Give it their parameters.",
            number("gradients that were clipped twice", part, probe.probe),
            number("gradients that were never clipped", rest, probe.probe),
        )
        return (found,)
    return ()


def _again(update: Update) -> bool:
    """Whether all clips of an update are of one part of it, the second of what the first one left."""
    calls = clip_calls(update)
    alike = all(_follows(one, other) for one, other in pairwise(calls))
    return len(calls) > 1 and alike and calls[0].gradients < (update.gradients or 0)


def _follows(one: ClipCall, other: ClipCall) -> bool:
    if not (one.bounds and one.limit == other.limit and one.returned and other.returned):
        return False
    left = min(one.returned, one.limit or 0.0)
    return one.gradients == other.gradients and close(other.returned, left, NAMED)
