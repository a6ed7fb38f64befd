"""No part of the model is starved by a threshold that another part's size decides about.

Bug::

    loss.backward()                                # backbone: norm 0.05, head: norm 10
    clip_grad_norm_(model.parameters(), 1.0)       # one factor for both: 0.1
    optimizer.step()                               # the backbone is left with 0.005

Signature: a group's consumed gradient, projected on its true one, is a smaller fraction than it
must keep.

Masked by: groups of equal size; Adam, which makes up for the factor; a head that is quiet.
"""

import math
from dataclasses import dataclass

from harness.domain.scenario import Expectations, Group
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.consumption import Reading, transported
from harness.properties.figures import count, number, show
from harness.properties.property import Property

ID = "clip-per-group"


@dataclass(frozen=True, slots=True)
class Part:
    """One group in one window."""

    reading: Reading
    """The window."""
    true: float
    """Norm of the group's true gradient."""
    consumed: float
    """Norm of what the optimizer consumed for it."""
    kept: float
    """Fraction of its true gradient that arrived."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Each group against its share, in every full window."""
    account = transported(trace, expectations)
    groups = {n: g for n, g in expectations.groups.items() if g.keeps_at_least is not None}
    if not groups:
        return inconclusive(ID, "The scenario names no group that another one could starve.")
    if account is None:
        return inconclusive(ID, "No full window could be compared with its true gradient.")
    evidence: list[str] = []
    for name, group in groups.items():
        parts = [p for r in account.readings if (p := part_of(r, group)) is not None]
        if (verdict := starved(name, group, parts)) is not None:
            return verdict
        shown = told(name, parts)
        if shown is None:
            return inconclusive(
                ID, f"No window put {name} to the test ({count(len(parts), 'window')} seen)."
            )
        evidence.append(shown)
    return passed(ID, f"{'; '.join(evidence)}.", number("windows", len(account.readings)))


def part_of(reading: Reading, group: Group) -> Part | None:
    """The group's part of a window; ``None`` where its true gradient is 0 or absent."""
    mine = [p for p in reading.match.parameters if group.holds(p.name)]
    true = math.fsum(p.expected_norm**2 for p in mine)
    if true == 0.0:
        return None
    consumed = math.sqrt(math.fsum((p.consumed_norm or 0.0) ** 2 for p in mine))
    return Part(reading, math.sqrt(true), consumed, math.fsum(p.dot for p in mine) / true)


def starved(name: str, group: Group, parts: list[Part]) -> Verdict | None:
    """A fail when too little of a group's gradient arrives although nothing bounds it itself."""
    if group.keeps_at_least is None:
        return None
    free = [p for p in parts if group.bounded_by is None or p.true <= group.bounded_by]
    worst = min(free, key=lambda p: p.kept, default=None)
    if worst is None or worst.kept >= group.keeps_at_least - worst.reading.window.tolerance:
        return None
    return failed(
        ID,
        f"In {worst.reading.where} only {show(worst.kept)} of {name}'s gradient arrived "
        f"({show(worst.consumed)} of {show(worst.true)}); at least {show(group.keeps_at_least)} "
        "should. Another part's size decided about it: clip the groups apart, or give them "
        "learning rates of their own and a threshold that only spikes reach.",
        number(f"fraction of {name} kept", worst.kept, worst.reading.where),
        number(f"true norm of {name}", worst.true, worst.reading.where),
    )


def told(name: str, parts: list[Part]) -> str | None:
    """What shows that a group was put to the test and held; ``None`` if nothing does."""
    if not any(p.reading.true >= 2.0 * p.true for p in parts):
        return None  # nothing else was large, so nothing could starve it
    return f"{name} kept at least {show(min(p.kept for p in parts))} of its gradient"


PROPERTY = Property(
    id=ID,
    story=str(__doc__),
    judge=judge,
    explains=("still-learns",),
    needs="groups, and a window in which another part is at least twice as large",
)
