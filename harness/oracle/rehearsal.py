"""Updates that only prepare a measurement: what they trained is a copy, or undone, or a few batches.

A program that measures warms up first, with and without what it measures. Counting those updates as
training called fair measurements wrong. Only scenarios whose subject is a measurement ask for this.
"""

from harness.domain.event import ClockRead
from harness.domain.trace import RankTrace, Update
from harness.oracle.facts import Consumed, Parameters, RankRun
from harness.oracle.replay import Replay


def without_rehearsals(trace: RankTrace, run: RankRun, replay: Replay) -> RankTrace:
    """The trace with every update that is not training marked as timed."""
    found = {i for i, update in enumerate(run.updates) if _on_a_copy(update, replay.names)}
    found |= _undone(run) | _warm_up(run, trace.updates, replay)
    marked = (
        update.model_copy(update={"timed": update.timed or i in found})
        for i, update in enumerate(trace.updates)
    )
    return trace.model_copy(update={"updates": tuple(marked)})


def _on_a_copy(update: Consumed, names: list[str]) -> bool:
    """Whether every stepped parameter is that of a copy of the workload's model."""
    stepped = [n for step in update.steps for g in step.groups for n in g.parameters]
    return bool(stepped) and all(n not in names and n.partition(".")[2] in names for n in stepped)


def _undone(run: RankRun) -> set[int]:
    """Updates after which something put the parameters back to what they were before."""
    found: set[int] = set()
    starts = [*(update.before for update in run.updates[1:]), run.final]
    for last, now in enumerate(starts[: len(run.updates)]):  # without an update, nothing to undo
        if now is run.updates[last].after:
            continue
        back = next((i for i in range(last + 1) if _same(run.updates[i].before, now)), last + 1)
        found.update(range(back, last + 1))
    return found


def _same(one: Parameters, other: Parameters) -> bool:
    """Bit for bit, on the parameters that both have."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(
        one[n] is other[n] or one[n].tobytes() == other[n].tobytes() for n in shared
    )


def _warm_up(run: RankRun, updates: tuple[Update, ...], replay: Replay) -> set[int]:
    """Updates before the first clock read, unless together they saw all the data."""
    clock = next((i for i, e in enumerate(run.events) if isinstance(e, ClockRead)), None)
    if clock is None:
        return set()
    early = {i for i, update in enumerate(run.updates) if update.position < clock}
    seen: set[int] = set()
    for batch in (m for i in early for m in updates[i].window):
        if batch.samples is None:
            return set()
        seen.update(batch.samples)
    everything = {s for batch in replay.batches for s in batch.samples}
    return set() if everything <= seen else early
