"""No part of the model is starved by a threshold that another part's size decides about.

Bug::

    loss.backward()                                # backbone: norm 0.05, head: norm 10
    clip_grad_norm_(model.parameters(), 1.0)       # one factor for both: 0.1
    optimizer.step()                               # the backbone is left with 0.005

Signature: a group's consumed gradient, projected on its true one, is a smaller fraction than it
must keep; or it is larger, at one norm (normalised); or a clip is given no gradient; the loud
group is cut down at a threshold far below the one that the quiet group is given and never reaches;
or as many clips as there are groups are all given the quiet one, and the loud one is never clipped.

Masked by: groups of equal size; Adam, which makes up for the factor; a head that is quiet.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

from harness.domain.clip_call import clip_calls
from harness.domain.scenario import Expectations, Group
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.clipping.clips import on_nothing
from harness.properties.clipping.group_parts import GroupInWindow, parts_of
from harness.properties.clipping.same_group_twice import one_group_twice
from harness.properties.evidence import preconditions
from harness.properties.evidence.consumption import WindowReading, transported
from harness.properties.evidence.dry_clips import ran_dry
from harness.properties.evidence.figures import close, count, number, show, spread
from harness.properties.evidence.thresholds import NAMED
from harness.properties.property import Expected, Property

ID = "clip-per-group"

FAR = 4.0
"""One group is louder than another, or one threshold larger, from this factor on."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Compare what arrived of each group with the fraction that it must keep, in every full window."""
    account = transported(trace, expectations)
    groups = {n: g for n, g in expectations.groups.items() if g.keeps_at_least is not None}
    if not groups:
        return inconclusive(ID, "The scenario names no group that another one could starve.")
    if account is None:
        return inconclusive(ID, "No full window could be compared with its true gradient.")
    evidence: list[str] = []
    readings = account.readings
    seen = {n: parts_of(readings, group) for n, group in expectations.groups.items()}
    if (verdict := normalised(seen) or of_nothing(readings, seen)) is not None:
        return verdict
    for name, group in groups.items():
        if (verdict := starved(name, group, seen[name])) is not None:
            return verdict
        shown = told(name, free(group, seen[name]))
        if shown is None:
            return inconclusive(
                ID, f"No window put {name} to the test ({count(len(seen[name]), 'window')} seen)."
            )
        evidence.append(shown)
    return (
        exchanged(seen)
        or one_group_twice(readings, expectations.groups, seen)
        or idle(readings, seen)
        or passed(ID, f"{'; '.join(evidence)}.", number("windows", len(readings)))
    )


def normalised(seen: Mapping[str, list[GroupInWindow]]) -> Verdict | None:
    """A fail when a group's gradient is scaled up to one norm, whatever its own norm was."""
    for name, parts in seen.items():
        up = [p for p in parts if p.raised]
        if len(up) < 2 or spread([p.consumed for p in up]) >= 0.1 * spread([p.true for p in up]):
            continue
        most = max(up, key=lambda p: p.kept)
        return failed(
            ID,
            f"In {most.reading.where} {name}'s gradient of norm {show(most.true)} was scaled up to "
            f"{show(most.consumed)}, its norm in {count(len(up), 'window')}: it is normalised, not "
            "clipped. Limit the coefficient to 1.",
            number(f"true norm of {name}", most.true, most.reading.where),
            number(f"consumed norm of {name}", most.consumed, most.reading.where),
        )
    return None


def of_nothing(
    readings: Sequence[WindowReading], seen: Mapping[str, list[GroupInWindow]]
) -> Verdict | None:
    """A fail when clips are called without any gradients, always or from some window on."""
    dry = next((r for r in readings if ran_dry(first_of(r, readings).update, r.update)), None)
    if dry is None and untouched(readings, seen) and all(on_nothing(r.update) for r in readings):
        dry = readings[0]
    if dry is None:
        return None
    return failed(
        ID,
        f"In {dry.where} a clip was called with 0 gradients ({'; '.join(dry.update.clip_calls)}), "
        f"and the optimizer consumed norm {show(dry.consumed)}. The iterator of parameters was "
        "used up: keep a list, or call parameters() anew.",
        number("norm of the consumed gradient", dry.consumed, dry.where),
    )


def first_of(reading: WindowReading, readings: Sequence[WindowReading]) -> WindowReading:
    """The first window of the same probe and rank."""
    mine = reading.window.probe.probe, reading.window.rank
    return next(r for r in readings if (r.window.probe.probe, r.window.rank) == mine)


def untouched(readings: Sequence[WindowReading], seen: Mapping[str, list[GroupInWindow]]) -> bool:
    """Whether every gradient arrived whole in every window, as a whole and group by group."""
    alone = all(p.whole for parts in seen.values() for p in parts)
    return alone and all(close(r.consumed, r.true, NAMED) for r in readings)


def exchanged(seen: Mapping[str, list[GroupInWindow]]) -> Verdict | None:
    """A fail when the loud group got the small threshold and the quiet group the large one."""
    for (loud, high), (quiet, low) in permutations(seen.items(), 2):
        both = [
            (a, b) for a in high for b in low if a.reading is b.reading and a.true > FAR * b.true
        ]
        cut = [(a, b) for a, b in both if a.kept < 0.5]
        limits = [(limit(a), limit(b)) for a, b in both]
        if len(cut) < 2 or not all(b.whole for _, b in both):
            continue
        if any(not x or not y or FAR * x > y for x, y in limits):
            continue
        (one, other), (small, large) = cut[0], limits[0]
        return failed(
            ID,
            f"In {one.reading.where} {loud}'s gradient of norm {show(one.true)} was clipped at "
            f"{show(small or 0.0)}, and {quiet}'s of norm {show(other.true)} at {show(large or 0.0)}: "
            "the thresholds were given to the wrong groups. Keep each threshold with its parameters.",
            number(f"threshold of {loud}", small or 0.0, one.reading.where),
            number(f"threshold of {quiet}", large or 0.0, one.reading.where),
        )
    return None


def limit(part: GroupInWindow) -> float | None:
    """The threshold of the one clip that returned this group's norm; ``None`` if several did or none."""
    calls = [c for c in clip_calls(part.reading.update) if c.limit and c.returned]
    mine = [c for c in calls if close(c.returned or 0.0, part.true, NAMED)]
    return mine[0].limit if len(mine) == 1 else None


def idle(
    readings: Sequence[WindowReading], seen: Mapping[str, list[GroupInWindow]]
) -> Verdict | None:
    """Inconclusive when no clip was called and no gradient was changed."""
    calls = [c for r in readings for c in clip_calls(r.update)]
    if any(c.function.startswith("clip_") for c in calls) or not untouched(readings, seen):
        return None
    return inconclusive(
        ID,
        f"In {count(len(readings), 'window')} every part's gradient arrived whole and no clip was "
        "called: a threshold that only spikes reach, learning rates alone and a clip that does "
        "nothing look the same.",
    )


def starved(name: str, group: Group, parts: list[GroupInWindow]) -> Verdict | None:
    """A fail when too little of a group's gradient arrives although its own bound leaves it alone."""
    if group.keeps_at_least is None:
        return None
    worst = min(free(group, parts), key=lambda p: p.kept, default=None)
    if worst is None or worst.kept >= group.keeps_at_least - worst.reading.window.tolerance:
        return None
    return failed(
        ID,
        f"In {worst.reading.where} only {show(worst.kept)} of {name}'s gradient arrived "
        f"({show(worst.consumed)} of {show(worst.true)}); at least {show(group.keeps_at_least)} "
        f"should. {cause(group, worst)}",
        number(f"fraction of {name} kept", worst.kept, worst.reading.where),
        number(f"true norm of {name}", worst.true, worst.reading.where),
    )


def cause(group: Group, worst: GroupInWindow) -> str:
    """What decided about a gradient that needed no clip, as far as factors by parameter tell it."""
    frozen = worst.reading.update.frozen
    kept = [
        p.dot / p.expected_norm**2
        for p in worst.reading.match.parameters
        if group.holds(p.name) and p.name not in frozen and p.expected_norm > 0.0
    ]
    if max(kept, default=0.0) >= 1.0 - NAMED:
        return (
            "A bound of a single tensor decided about it, and the rest of the group arrived whole: "
            "hand all of the group's parameters to one clip."
        )
    return (
        "Another part's size decided about it: clip the groups apart, or give them "
        "learning rates of their own and a threshold that only spikes reach."
    )


def free(group: Group, parts: list[GroupInWindow]) -> list[GroupInWindow]:
    """The windows in which the group's own bound leaves it alone."""
    return [p for p in parts if group.bounded_by is None or p.true <= group.bounded_by]


def told(name: str, parts: list[GroupInWindow]) -> str | None:
    """Evidence that another part was loud and the group kept its gradient; ``None`` if nothing was
    loud.
    """
    if not any(p.reading.true >= 2.0 * p.true for p in parts):
        return None  # nothing else was large, so nothing could starve it
    return f"{name} kept at least {show(min(p.kept for p in parts))} of its gradient"


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(
        Expected(
            "groups",
            "groups: {head: {prefix: head, keeps_at_least: 0.5}}  # parts of the model",
        ),
    ),
    applies=preconditions.keeps_a_group,
    explains=("still-learns",),
    needs="groups, and a window in which another part is at least twice as large",
)
