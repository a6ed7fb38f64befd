"""Clips of several groups that were all given the same one."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from harness.domain.clip_call import ClipCall, clip_calls
from harness.domain.scenario import Group
from harness.domain.verdict import Verdict, failed
from harness.properties.clipping.group_parts import GroupInWindow
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import close, count, number, show
from harness.properties.evidence.thresholds import NAMED

ID = "clip-per-group"

BOTH = 2
"""Windows from which on the same group twice is the rule."""


def one_group_twice(
    readings: Sequence[WindowReading],
    groups: Mapping[str, Group],
    seen: Mapping[str, Sequence[GroupInWindow]],
) -> Verdict | None:
    """A fail where each window has a clip for each group, all of them were given the same quiet group,
    and the loud one arrived above its bound in every window in which it exceeds it.

    The thresholds may differ: each of them was meant for a group of its own.
    """
    calls = [repeated(r, len(groups)) for r in readings]
    if len(readings) < BOTH or not all(calls):
        return None
    for name, group in groups.items():
        over = [p for p in seen[name] if group.bounded_by and p.true > group.bounded_by]
        if len(over) < BOTH or not all(p.whole for p in seen[name]):
            continue
        twice = next((n for n in groups if n != name and was_given(seen[n], readings)), None)
        if twice is None:
            continue
        most = max(over, key=lambda p: p.consumed)
        return failed(
            ID,
            f"In {most.reading.where}, as in {count(len(readings), 'window')}, {twice} was clipped "
            f"{count(len(groups), 'time')} at {limits(most.reading)} and {name} never, which "
            f"arrived whole with norm {show(most.consumed)}: each clip was meant for a group of its "
            "own. Take each clip's parameters from the group that its turn is about; a lambda in a loop "
            "keeps the variable, not its value (lambda p=part: ...).",
            number(f"consumed norm of {name}", most.consumed, most.reading.where),
            number(f"clips of {twice}", float(len(groups)), most.reading.where),
        )
    return None


def repeated(reading: WindowReading, groups: int) -> bool:
    """Whether its clips are as many as there are groups, and were given the same gradients."""
    found = clip_calls(reading.update)
    return len(found) == groups > 1 and all(same(a, b) for a, b in pairwise(found))


def same(one: ClipCall, other: ClipCall) -> bool:
    """Whether two calls were given as many gradients of the same norm, each with a threshold."""
    if one.function != "clip_grad_norm_" or {one.limit, other.limit} & {None, float("inf")}:
        return False
    known = one.returned and other.returned and close(one.returned, other.returned, NAMED)
    return bool(known) and (one.function, one.gradients) == (other.function, other.gradients)


def limits(reading: WindowReading) -> str:
    """The thresholds of its clips, for the sentence."""
    found = dict.fromkeys(show(c.limit or 0.0) for c in clip_calls(reading.update))
    return f"thresholds {' and '.join(found)}" if len(found) > 1 else "the same threshold"


def was_given(parts: Sequence[GroupInWindow], readings: Sequence[WindowReading]) -> bool:
    """Whether the clips of every window returned this group's norm."""
    norms = [clip_calls(p.reading.update)[0].returned or 0.0 for p in parts]
    return len(parts) == len(readings) and all(
        close(norm, p.true, NAMED) for norm, p in zip(norms, parts, strict=True)
    )
