"""A part of the model whose gradients spike is bounded by a threshold of its own or of the whole.

Bug::

    optimizer = SGD([{"params": backbone, "lr": 1e-4}, {"params": head, "lr": 1e-3}])
    loss.backward()                                # head: norm 5, now and then 15
    optimizer.step()                               # the spike arrives whole

Signature: the norm of what the optimizer consumed for a group exceeds the group's bound.

Masked by: a part that stays quiet; Adam, which divides a spike by its own running size.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.clipping.group_parts import GroupInWindow, parts_of
from harness.properties.evidence import preconditions
from harness.properties.evidence.consumption import transported
from harness.properties.evidence.figures import number, show
from harness.properties.evidence.thresholds import NAMED
from harness.properties.property import Expected, Property

ID = "groups-bounded"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Each group that has a bound, in every full window."""
    account = transported(trace, expectations)
    bounds = {n: g for n, g in expectations.groups.items() if g.bounded_by is not None}
    if not bounds:
        return inconclusive(ID, "The scenario names no group that has to be bounded.")
    if account is None:
        return inconclusive(ID, "No full window could be compared with its true gradient.")
    evidence: list[str] = []
    for name, group in bounds.items():
        bound = group.bounded_by or 0.0
        parts = parts_of(account.readings, group)
        loud = max(parts, key=lambda part: part.true, default=None)
        worst = max(parts, key=lambda part: part.consumed, default=None)
        if worst is not None and worst.consumed > bound * (1.0 + NAMED):
            return unbounded(name, bound, worst)
        if loud is None or loud.true <= bound:
            return inconclusive(ID, f"{name} never exceeded {show(bound)}, so nothing bounded it.")
        evidence.append(
            f"{name} arrived with {show(loud.consumed)} where its true norm was {show(loud.true)}"
        )
    return passed(ID, f"{'; '.join(evidence)}.", number("windows", len(account.readings)))


def unbounded(name: str, bound: float, worst: GroupInWindow) -> Verdict:
    """A fail, with the largest norm that arrived."""
    cut = worst.consumed < worst.true * (1.0 - NAMED)
    how = "what shortened it left more" if cut else "nothing bounded it"
    return failed(
        ID,
        f"In {worst.reading.where} {name}'s gradient reached the optimizer with norm "
        f"{show(worst.consumed)} (its true norm: {show(worst.true)}), above its bound of {show(bound)}: "
        f"{how}. Clip this group by itself, at {show(bound)} at most.",
        number(f"consumed norm of {name}", worst.consumed, worst.reading.where),
        number(f"true norm of {name}", worst.true, worst.reading.where),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(
        Expected(
            "groups",
            "groups: {head: {prefix: head, bounded_by: 1.0}}  # parts of the model",
        ),
    ),
    applies=preconditions.bounds_a_group,
    explains=("still-learns",),
    needs="a group with a bound, and a window in which it exceeds it",
)
