"""Ranks synchronise each parameter once an update, not once a micro-batch.

Bug::

    for i, (x, y) in enumerate(train_loader):          # model = DDP(model)
        (criterion(model(x), y) / 4).backward()        # all-reduces each time: 4 rounds, not 1
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

Signature: reduced elements over parameters is N, or 2 (synchronised by DDP and by hand), instead
of 1.

Masked by: values, which are right (averages add up); counting calls instead of elements
(buckets).
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import close, count, middle, number, show
from harness.properties.evidence.windows import Window, full
from harness.properties.property import Property

ID = "single-allreduce"

HALF = 0.5
"""Scalars reduced beside the gradients (losses, norms, flags) stay far below half a round."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Rounds per parameter in every full window of probes with several ranks."""
    del expectations
    # of samples of large gradients nobody knows of how many elements they are
    windows = [w for w in full(trace) if w.probe.world_size > 1 and not w.probe.sampled]
    if not windows:
        return inconclusive(
            ID, "No full window ran on several ranks, with its gradients as a whole."
        )
    many = [w for w in windows if w.update.rounds > 1.0 + HALF]
    if many:
        return wasteful(many, len(windows))
    none = [w for w in windows if w.update.rounds < HALF]
    if none:
        first = none[0]
        return inconclusive(
            ID,
            f"In {first.where} gradients were not reduced over the ranks "
            f"({show(first.update.rounds)} rounds); whether the ranks still agree is another "
            "question (ranks-agree).",
            number("rounds", first.update.rounds, first.where),
        )
    several = [w for w in windows if w.update.window_size > 1]
    beside = [w for w in several if w.update.exchanged >= w.update.window_size]
    if 2 * len(beside) > len(windows):
        return inconclusive(
            ID,
            f"In {beside[0].where} ranks sent each other {show(beside[0].update.exchanged)} times the "
            "parameters beside that round, by other collectives than reductions: enough to synchronise "
            "every micro-batch.",
            number("times the parameters", beside[0].update.exchanged, beside[0].where),
        )
    rounds = [w.update.rounds for w in windows]
    return passed(
        ID,
        f"Each parameter was synchronised once in each of {count(len(windows), 'full window')} "
        f"({show(min(rounds))} to {show(max(rounds))} rounds).",
        number("fewest rounds", min(rounds)),
        number("most rounds", max(rounds)),
    )


def wasteful(many: list[Window], of: int) -> Verdict:
    """The fail for more than one round."""
    rounds = middle([w.update.rounds for w in many])
    size = many[0].update.window_size
    times = backwards_each(many[0])
    to_do = (
        f"Backward ran {times} times over each graph, and synchronised each time. Call it once for each "
        "loss."
        if times > 1 and close(many[0].update.rounds, times, HALF / times)
        else "Run all but the last micro-batch, forward included, under model.no_sync()."
    )
    return failed(
        ID,
        f"In {many[0].where} each parameter was synchronised {show(many[0].update.rounds)} times "
        f"for one update of {size} micro-batches, and so in {len(many)} of {count(of, 'window')}. "
        f"{to_do}",
        number("rounds", rounds, many[0].where),
        number("micro-batches in the window", size, many[0].where),
    )


def backwards_each(window: Window) -> int:
    """How many times backward ran over each graph of a window: the fewest of its micro-batches."""
    return min((m.backwards for m in window.own), default=0)


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.communicates,
    needs="a full window on several ranks",
)
