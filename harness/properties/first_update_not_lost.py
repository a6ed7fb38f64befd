"""No update at the start is computed and thrown away: warm-up begins above a learning rate of 0.

Bug::

    scheduler = LambdaLR(optimizer, lambda step: min(1.0, step / warm_up))   # 0 / warm_up = 0
    ...
    optimizer.step()       # a whole window's gradient times a learning rate of 0
    scheduler.step()       # only now is the rate above 0

Signature: updates before the first one with a learning rate consumed a gradient, at a rate of 0 or
as good as 0, and the parameters stayed where they were.

Masked by: one update among thousands; a rate that is 0 throughout a short run. Lawful: some groups
at 0 and others not, a decay that ends at 0, an update that a scaler skipped, and any start that
moves something.
"""

from itertools import takewhile

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import Window, of_rank, ordinary
from harness.properties.judging.property import Property

ID = "first-update-not-lost"

NOTHING = 1e-5
"""An update does nothing when its learning rate is below this part of the run's highest, or its
movement below this part of the run's largest. A warm-up over ten thousand updates starts at 1e-4.
"""

LITTLE = 5e-5
"""From this part of the highest rate on, an update clearly does something; in between, inconclusive."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
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
            starts.append(0.0 if lost else rate(updates[0]) / highest)
    if not starts:
        return inconclusive(ID, "No two updates with a gradient and a learning rate were seen.")
    least = min(starts)
    figure = number("first learning rate over the highest", least)
    if least < LITTLE:
        text = f"The first learning rate is {show(least)} of the highest: whether it does something"
        return inconclusive(ID, f"{text} cannot be told.", figure)
    return passed(
        ID,
        f"The first update has a learning rate: at least {show(least)} of the highest, in "
        f"{count(len(starts), 'run')}.",
        figure,
    )


def resting(updates: tuple[Window, ...], highest: float) -> tuple[Window, ...]:
    """The updates before the first one that has a learning rate above 0."""
    return tuple(takewhile(lambda w: rate(w) <= NOTHING * highest, updates))


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
    story=str(__doc__),
    judge=judge,
    explains=("still-learns",),
    needs="two updates with a gradient and a learning rate",
)
