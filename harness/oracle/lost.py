"""Batches that were handed out and whose gradient never reached an optimizer."""

from collections.abc import Callable
from functools import cache

from harness.domain.event import ENOUGH, BatchYielded, Finished, Forward
from harness.domain.trace import Update
from harness.oracle.facts import RankRun
from harness.oracle.replay import Replay

WIPED = 0.02
"""A micro-batch is wiped when its coefficient is below this share of the largest. Dividing again
after each backward leaves the first of four with 1/64.
"""


def lost_batches(
    rank: int, run: RankRun, updates: tuple[Update, ...], usual: int, replay: Replay
) -> tuple[int, int, int]:
    """How many batches of the training loader were lost, how many of these lie in the short tail of
    a pass, and how many were handed out.

    A batch that entered no forward that could carry gradient is lost only if its pass went to the
    end: otherwise the program evaluated, or stopped early. A batch is not lost if a scaler skipped
    its update, or if its pass had no update at all, since that pass only measured; nor is one behind
    the last update of a run that the harness ended.
    """
    trained = {u.last_batch[0] for u in run.updates if u.last_batch is not None}
    used = _consumed_forwards(rank, updates)
    lost = at_end = handed_out = 0
    sizes = _pass_sizes(run)
    samples_of = cache(lambda passed: replay.index.recognise(run.forwards[passed].inputs))
    by_batch = _by_batch(run)
    for batch, forwards in by_batch[: _until_stopped(run)]:
        handed_out += 1
        flowed = [f for f in forwards if f in run.forwards]
        if batch.epoch not in trained or any(f in used for f in flowed):
            continue
        size = sizes[batch.epoch]
        if not flowed and (
            size < len(replay.batches) or _entered(batch, by_batch, run, replay, samples_of)
        ):
            continue
        lost += 1
        at_end += usual > 0 and batch.index >= size - size % usual
    return lost, at_end, handed_out


def _entered(
    batch: BatchYielded,
    by_batch: list[tuple[BatchYielded, list[int]]],
    run: RankRun,
    replay: Replay,
    samples_of: Callable[[int], tuple[int, ...] | None],
) -> bool:
    """Whether a sample of this batch entered any forward of its pass that could carry gradient.

    Batches may be collected first and used afterwards. Inputs that are in no data set could be it,
    where more than one forward follows some batch; but what a generator makes is not.
    """
    own = set(replay.batches[batch.index].samples)
    near = (None, batch.epoch, batch.epoch + 1)  # the next pass may begin before the last forward
    gathered = any(len(forwards) > 1 for b, forwards in by_batch if b.epoch in near)
    entered = [(f.in_pass, samples_of(f.id)) for f in run.forwards.values() if f.in_pass in near]
    made = bool(replay.parts) and any(samples is not None for _, samples in entered)
    found = [
        in_pass
        for in_pass, samples in entered
        if (gathered and not made if samples is None else not own.isdisjoint(samples))
    ]
    again = [b for b, _ in by_batch if (b.epoch, b.index) == (batch.epoch + 1, batch.index)]
    # of those in the next pass, one belongs to the same batch handed out again
    return found.count(batch.epoch + 1) > len(again) or any(p != batch.epoch + 1 for p in found)


def _consumed_forwards(rank: int, updates: tuple[Update, ...]) -> set[int]:
    """Forwards of this rank whose gradient reached an optimizer, or was skipped with its update.

    A forward of an earlier window counts only where a coefficient shows that it was carried over.
    """
    used: set[int] = set()
    for update in updates:
        if update.consumed_norm == 0.0 and not update.matches and not update.skipped:
            continue  # cleared between backward and step
        largest = max((abs(m.coefficient or 0.0) for m in update.micro_batches), default=0.0)
        share = min(WIPED, update.coefficient_error)
        for m in update.micro_batches:
            known = m.coefficient is not None
            wiped = known and abs(m.coefficient or 0.0) < share * largest
            if m.rank == rank and not wiped and (known or m.in_window):
                used.add(m.forward)
    return used


def _until_stopped(run: RankRun) -> int | None:
    """How many batches were handed out before the last update of a run that the harness ended within
    a window; ``None`` for all of a run that ended by itself.
    """
    end = run.events[-1] if run.events else None
    if not isinstance(end, Finished) or not (end.message or "").startswith(ENOUGH):
        return None
    seen = run.events[: run.updates[-1].position] if run.updates else ()
    return sum(isinstance(e, BatchYielded) and e.loader == "train" for e in seen)


def _by_batch(run: RankRun) -> list[tuple[BatchYielded, list[int]]]:
    """Each batch of the training loader with the forwards that followed it before the next."""
    found: list[tuple[BatchYielded, list[int]]] = []
    for event in run.events:
        if isinstance(event, BatchYielded) and event.loader == "train":
            found.append((event, []))
        elif isinstance(event, Forward) and found and event.differentiable:
            found[-1][1].append(event.id)
    return found


def _pass_sizes(run: RankRun) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for event in run.events:
        if isinstance(event, BatchYielded) and event.loader == "train":
            sizes[event.epoch] = max(sizes.get(event.epoch, 0), event.index + 1)
    return sizes
