"""Each sample of the data set is trained on once an epoch, by one rank and one worker.

Bug::

    loader = DataLoader(dataset, batch_size=8, shuffle=True)   # model = DDP(model): no sampler
    for x, y in loader:                                        # every rank trains on everything
        ...

    class Stream(IterableDataset):
        def __iter__(self):                    # num_workers=2: each worker has a copy
            yield from self.records            # and gives everything

Signature: within an epoch, rows come several times; or rows come in no epoch at all. That the
sampler of ranks repeats up to one row a rank to make them even is lawful, and so is a short last
batch that is dropped, as long as it is another one in each epoch.

Masked by: one rank and no workers; a data set that the batches fill exactly; a single epoch.
"""

from collections import Counter

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Number, Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number
from harness.properties.property import Property

from ._passes import Epoch, epochs_of, unclear

ID = "each-sample-once"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """The first epoch with rows too often, or a row that no epoch has."""
    del expectations
    seen: list[Number] = []
    for probe in trace.probes:
        epochs = list(epochs_of(probe))
        amiss = (*map(repeated, epochs), never_seen(probe, epochs), given_away(epochs))
        for wrong in (*amiss, never_updated(probe, epochs)):
            if wrong is not None:
                return wrong
        seen += [number("samples trained on", len(e.samples), e.where) for e in epochs]
        if len(epochs) < 2:
            return inconclusive(ID, f"In {probe.probe} there are fewer than two epochs to compare.")
    doubt = unclear(ID, trace)
    if doubt is not None or not seen:
        return doubt or inconclusive(ID, "No epoch was seen.")
    return passed(ID, f"In {count(len(seen), 'epoch')} each sample was trained on once.", *seen)


def repeated(epoch: Epoch) -> Verdict | None:
    """A fail where rows come again, beyond what makes ranks even."""
    times = Counter(sample for sample in epoch.samples if sample is not None)
    again = sum(n - 1 for n in times.values())
    ranks = len(epoch.passes)
    if again <= ranks - 1:
        return None
    most = max(times.values())
    return failed(
        ID,
        f"In {epoch.where} {again} rows were trained on that had been trained on in it before, some of "
        f"them {most} times. {advice(epoch)}",
        number("rows trained on again", again, epoch.where),
        number("rows trained on", len(epoch.samples), epoch.where),
    )


def never_updated(probe: ProbeTrace, epochs: list[Epoch]) -> Verdict | None:
    """A fail where a program that came to its end computed gradients and updated nothing."""
    updated = any(rank.updates or rank.implicit_updates for rank in probe.ranks)
    if updated or not epochs or probe.program.outcome != "returned":
        return None
    rows = sum(len(e.samples) for e in epochs)
    return failed(
        ID,
        f"In {probe.probe} gradients were computed for {rows} rows, and no update followed: call "
        "optimizer.step() for each batch.",
        number("rows without an update", rows, probe.probe),
    )


def advice(epoch: Epoch) -> str:
    """What most likely repeats them."""
    if len(epoch.passes) > 1:
        return (
            "Give each rank its part: DistributedSampler(dataset) as the loader's sampler, or every "
            "world_size-th record of a stream."
        )
    return (
        "Each worker has a copy of the data set: an IterableDataset has to give each its part "
        "(get_worker_info().id and .num_workers)."
    )


def never_seen(probe: ProbeTrace, epochs: list[Epoch]) -> Verdict | None:
    """A fail where every epoch leaves the same rows out."""
    if len(epochs) < 2 or any(None in epoch.samples for epoch in epochs):
        return None
    everything = frozenset(range(epochs[0].facts.samples))
    left = {everything.difference(epoch.samples) for epoch in epochs}
    missing = next(iter(left))
    if len(left) > 1 or not missing:  # another tail in each epoch is drawn, and no fault
        return None
    return failed(
        ID,
        f"In {probe.probe} {count(len(missing), 'row')} of {epochs[0].facts.samples} came in none of "
        f"{len(epochs)} epochs. What is dropped or left over has to be other rows in each epoch "
        "(shuffle), or nothing.",
        number("rows never trained on", len(missing), probe.probe),
    )


def given_away(epochs: list[Epoch]) -> Verdict | None:
    """A fail where an epoch leaves out as much as a whole batch on each rank."""
    for epoch in (one for one in epochs if None not in one.samples):
        left = epoch.facts.samples - len(set(epoch.samples))
        if left >= epoch.facts.batch_size * len(epoch.passes):
            return failed(
                ID,
                f"In {epoch.where} {left} of {epoch.facts.samples} rows were not trained on: more than "
                "a short last batch. An epoch is one pass over all of the data.",
                number("rows left out", left, epoch.where),
            )
    return None


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    explains=("reshuffled-every-epoch", "workers-draw-apart"),
    needs="two epochs in which all rows that were trained on are recognised",
)
