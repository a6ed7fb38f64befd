"""No update at the start is computed and thrown away: warm-up begins above a learning rate of 0.

Bug::

    scheduler = LambdaLR(optimizer, lambda step: min(1.0, step / warm_up))   # 0 / warm_up = 0
    ...
    optimizer.step()       # a whole window's gradient times a learning rate of 0
    scheduler.step()       # only now is the rate above 0

Signature: updates before the first one with a learning rate consumed a gradient, at a rate of 0 or
as good as 0, and the parameters stayed where they were; or one group's warm-up does so; or a warm-up
that begins anew later.

Masked by: one update among thousands; a rate that is 0 throughout a short run. Lawful: some groups
at 0 throughout and others not, a decay that ends at 0, an update that a scaler skipped, and any start
that moves something.
"""

from itertools import pairwise, takewhile

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import close, count, number, show
from harness.properties.evidence.windows import Window, of_rank, ordinary
from harness.properties.property import Property

ID = "first-update-not-lost"

NOTHING = 1e-5
"""An update does nothing when its learning rate is below this part of the run's highest, or its
movement below this part of the run's largest. A warm-up over ten thousand updates starts at 1e-4.
"""

CLIMBS = 2
"""How many times in a row a rate has to grow to be a warm-up and no restart of a decay."""

RAMP = 0.02
"""How far the second rate of a ramp from 0 may be from twice the first."""

LITTLE = 5e-5
"""From this part of the highest rate on, an update clearly does something; in between, inconclusive."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """The updates before the learning rate is above 0, and what it is in the first one."""
    found = before_any_rate(trace, expectations)
    ahead = at_full_rate(trace, expectations) if found.outcome == "pass" else None
    return ahead or found


def before_any_rate(trace: Trace, expectations: Expectations) -> Verdict:
    """The updates of every rank before the learning rate is above 0."""
    starts: list[float] = []
    for probe in ordinary(trace, expectations):
        for rank in probe.ranks:
            updates = tuple(w for w in of_rank(probe, rank) if fed(w))
            highest = max((rate(w) for w in updates), default=0.0)
            if len(updates) < 2 or (highest <= 0.0 and not still(updates)):
                continue
            lost = resting(updates, highest)
            if lost and (still(lost) or all(stayed(w, updates) for w in lost)):
                return thrown_away(lost, len(updates), highest)
            if (found := part_at_rest(updates) or lost_later(updates, highest)) is not None:
                return found
            starts.append(0.0 if lost else rate(updates[0]) / highest)
    if not starts:
        return inconclusive(ID, "No two updates with a gradient and a learning rate were seen.")
    least = min(starts)
    figure = number("first learning rate over the highest", least)
    if least < LITTLE:
        text = f"The first learning rate is {show(least)} of the highest"
        return inconclusive(ID, f"{text}: too little to see what it does.", figure)
    return passed(
        ID,
        f"The first update has a learning rate: at least {show(least)} of the highest, in "
        f"{count(len(starts), 'run')}.",
        figure,
    )


def resting(updates: tuple[Window, ...], highest: float) -> tuple[Window, ...]:
    """The updates before the first one that has a learning rate above 0."""
    return tuple(takewhile(lambda w: rate(w) <= NOTHING * highest, updates))


def at_full_rate(trace: Trace, expectations: Expectations) -> Verdict | None:
    """Inconclusive when the first update has the highest rate, the next at most half of it, and those
    behind climb: a warm-up that is set after the first step, or one that follows on purpose.
    """
    for probe in ordinary(trace, expectations):
        for rank in probe.ranks:
            first, *rates = [rate(w) for w in of_rank(probe, rank)][: 2 + CLIMBS] or [0.0]
            climbs = len(rates) > CLIMBS and all(a < b for a, b in pairwise(rates))
            if climbs and rates[0] <= first / 2 and max(rates) <= first * (1.0 + RAMP):
                said = (
                    f"the first update was made at {show(first)} and the next at {show(rates[0])}"
                )
                return inconclusive(
                    ID,
                    f"In {probe.probe} {said}, from where the rate climbs: the warm-up is set after "
                    "the first step, or begins anew.",
                    number("learning rate of the first update", first, probe.probe),
                    number("learning rate of the second", rates[0], probe.probe),
                )
    return None


def part_at_rest(updates: tuple[Window, ...]) -> Verdict | None:
    """What to say when one group's rate is 0 at first and above it later, while others have one. A
    ramp that goes on as it began is a warm-up from 0; anything else may be a part that is thawed.
    """
    rows = [w.update.learning_rates for w in updates]
    highest = max((max(row, default=0.0) for row in rows), default=0.0)
    if len({len(row) for row in rows}) != 1 or max(rows[0], default=0.0) <= NOTHING * highest:
        return None
    for group, rates in enumerate(zip(*rows, strict=True)):
        first = next((k for k, value in enumerate(rates) if value > NOTHING * max(rates)), 0)
        if not first:
            continue
        where, number_of = updates[0].where, number("group", group, updates[0].where)
        said = (
            f"In {where}, group {group} of the parameters has a learning rate of {show(rates[0])}"
        )
        after = rates[first : first + 2]
        if len(after) == 2 and close(after[1], 2 * after[0], RAMP):
            return failed(
                ID,
                f"{said}, and ramps up from there: its part of the first window is computed and "
                "thrown away. Count every group's warm-up from 1: (step + 1) / warm_up.",
                number_of,
                number("updates thrown away", first, updates[0].probe.probe),
            )
        return inconclusive(
            ID, f"{said}, and one above it later: a warm-up, or a part that is thawed.", number_of
        )
    return None


def lost_later(updates: tuple[Window, ...], highest: float) -> Verdict | None:
    """What to say when the rate is 0 in between, and above it before and after. Where it had not
    fallen towards it, a warm-up begins anew; else a decay has ended.
    """
    rates = [rate(w) for w in updates]
    above = [k for k, value in enumerate(rates) if value > NOTHING * highest]
    inner = [k for k in range(above[0], above[-1]) if k not in above] if above else []
    if not inner:
        return None
    window, before = updates[inner[0]], rates[above[0] : inner[0]]
    said = (
        f"In {window.where}, a gradient of norm {show(window.update.consumed_norm)} moved nothing: the "
        f"learning rate was 0, after {show(before[-1])} and before {show(rates[inner[-1] + 1])}"
    )
    figure = number("learning rate", rate(window), window.where)
    if len(before) > 1 and before[-1] > before[-2]:
        advice = "A warm-up that begins anew begins above 0: (step + 1) / warm_up."
        return failed(ID, f"{said}. {advice}", figure)
    return inconclusive(ID, f"{said}: the end of a decay, or an update that is lost.", figure)


def still(updates: tuple[Window, ...]) -> bool:
    """Whether none of these updates moved any parameter."""
    return all(w.update.moved == 0.0 for w in updates)


def fed(window: Window) -> bool:
    """Whether the update had a gradient of its own window to consume."""
    update = window.update
    return update.window_size > 0 and update.consumed_finite and update.consumed_norm > 0.0


def rate(window: Window) -> float:
    """The highest learning rate of all groups; a group at 0 beside others is meant to rest."""
    return max((r for r in window.update.learning_rates if r > 0.0), default=0.0)


def stayed(window: Window, updates: tuple[Window, ...]) -> bool:
    """Whether the parameters practically stayed where they were, compared with other updates."""
    moved = window.update.moved
    farthest = max(w.update.moved or 0.0 for w in updates)
    return moved is not None and farthest > 0.0 and moved < NOTHING * farthest


def thrown_away(lost: tuple[Window, ...], of: int, highest: float) -> Verdict:
    """The fail for updates at a learning rate of 0."""
    first = lost[0]
    return failed(
        ID,
        f"In {first.where}, a gradient of norm {show(first.update.consumed_norm)} from "
        f"{count(first.update.window_size, 'micro-batch')} moved nothing, because the learning "
        f"rate was {show(rate(first))}: {count(len(lost), 'update')} of {of} computed and thrown "
        "away. Count the warm-up from 1: (step + 1) / warm_up.",
        number("learning rate", rate(first), first.where),
        number("highest learning rate", highest, first.probe.probe),
        number("norm of the consumed gradient", first.update.consumed_norm, first.where),
        number("updates thrown away", len(lost), first.probe.probe),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.warms_up,
    explains=("still-learns",),
    needs="two updates with a gradient and a learning rate",
)
