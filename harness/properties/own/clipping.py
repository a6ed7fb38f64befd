"""Of a program with several optimizers the updates of those that it clips for: the others bound nothing,
and nobody misses that. A clip that was copied, and still names the part that was clipped before, is no
choice.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from harness.domain.clip_call import ClipCall, clip_calls
from harness.domain.scenario import PropertyRule
from harness.domain.trace import Trace, Update
from harness.domain.verdict import Verdict, failed
from harness.properties.clipping.clip_global_norm import ID as GLOBAL
from harness.properties.clipping.clip_per_group import ID
from harness.properties.evidence.figures import close, count, number, show
from harness.properties.evidence.settings import bounds_its_norm
from harness.properties.evidence.thresholds import NAMED
from harness.properties.judging.apart import only

MULTIPLIED = re.compile(r"clip_grad_norm_?\(.*\*")
"""How a program shows that it multiplies the threshold of its clip."""

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


def divided_after(trace: Trace, allowed: Sequence[PropertyRule]) -> tuple[Verdict, ...]:
    """A fail where each update consumes what its clip left divided by its number of micro-batches: the
    clip met their sum. Who multiplies the threshold makes up for that.
    """
    for probe in () if GLOBAL in {rule.id for rule in allowed} else trace.probes:
        windows = [u for u in probe.updates if u.window_size > 1]
        loud = [u for u in windows if _divided(u) and _acts(clip_calls(u)[0])]
        made_up = any(MULTIPLIED.search(line) for line in probe.program.source.split("\n"))
        if made_up or len(loud) < OFTEN or not all(map(_divided, windows)):
            continue
        first, limit = loud[0], clip_calls(loud[0])[0].limit or 0.0
        met, left = clip_calls(first)[0].returned or 0.0, first.consumed_norm
        found = failed(
            GLOBAL,
            f"In {probe.probe} the clip at {show(limit)} met the sum of "
            f"{count(first.window_size, 'micro-batch')}, of norm {show(met)}, and what it left was "
            f"divided by their number afterwards, to {show(left)}: the threshold is of the sum, and "
            "not of the gradient that the optimizer consumes. Divide before the clip.",
            number("norm that the clip met", met, probe.probe),
            number("norm of the consumed gradient", left, probe.probe),
        )
        return (found,)
    return ()


def _divided(update: Update) -> bool:
    calls = clip_calls(update)
    if len(calls) != 1 or update.loss_scale > 1.0 or not calls[0].bounds:
        return False
    left = min(calls[0].returned or 0.0, calls[0].limit or 0.0)
    return left > 0.0 and close(update.consumed_norm * update.window_size, left, NAMED)


def _acts(call: ClipCall) -> bool:
    return (call.returned or 0.0) > (call.limit or 0.0)


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
