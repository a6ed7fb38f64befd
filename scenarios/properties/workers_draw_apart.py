"""Random augmentation is new for every sample: no two workers, and no two epochs, draw the same.

Bug::

    class Noisy(Dataset):
        def __init__(self, base):
            self.rng = np.random.default_rng(0)      # copied into each worker, in each epoch
        def __getitem__(self, i):
            x, y = self.base[i]
            return x + 0.05 * self.rng.standard_normal(x.shape), y

    DataLoader(..., worker_init_fn=lambda i: np.random.seed(0))      # all workers draw alike

Signature: the same noise was added to two rows: by two workers in one epoch, by two ranks, or in two
epochs, since workers start anew in each.

Masked by: no workers; persistent workers with a single pass; numpy's global generator, which torch
seeds in each worker.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number
from harness.properties.property import Property

from ._passes import facts_of, unclear

ID = "workers-draw-apart"


@dataclass(frozen=True, slots=True)
class Draw:
    """Noise that was added to one row."""

    rank: int
    epoch: int
    worker: int
    noise: int

    def __str__(self) -> str:
        return f"worker {self.worker} of rank {self.rank} in epoch {self.epoch}"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """The first noise that comes a second time."""
    del expectations
    total, apart = 0, set[tuple[int, int]]()
    for probe in trace.probes:
        first: dict[int, Draw] = {}
        again = [
            (first[d.noise], d) for d in _draws(probe) if first.setdefault(d.noise, d) is not d
        ]
        if again:
            return _repeated(probe, again)
        total += len(first)
        apart |= {(d.rank, d.worker) for d in first.values()}
    doubt = unclear(ID, trace)
    if doubt is not None or total == 0:
        return doubt or inconclusive(ID, "Nothing was added to any row that was trained on.")
    if len(apart) < 2:
        return inconclusive(ID, "One worker made all batches: several may still draw alike.")
    return passed(
        ID,
        f"{len(apart)} workers drew {count(total, 'noise')} for as many rows, no two alike.",
        number("workers", len(apart)),
        number("noises", total),
    )


def _draws(probe: ProbeTrace) -> Iterator[Draw]:
    facts = facts_of(probe)
    for rank, seen in enumerate(facts.ranks if facts is not None else ()):
        for epoch, one in enumerate(seen.passes, 1):
            for at, batch in enumerate(one.batches):
                for noise in batch.noise:
                    if noise is not None:
                        yield Draw(rank, epoch, one.worker_of(at), noise)


def _repeated(probe: ProbeTrace, again: list[tuple[Draw, Draw]]) -> Verdict:
    before, now = again[0]
    how = (
        "Workers are copies: what draws has to be seeded in each of them, anew in each epoch. Draw from "
        "torch's or numpy's global generator, which torch seeds so, or make the generator in the worker "
        "from get_worker_info().seed."
    )
    return failed(
        ID,
        f"In {probe.probe} {now} added the same noise as {before}, and {len(again)} rows in all got "
        f"noise that another had got. {how}",
        number("rows with noise of another", len(again), f"{probe.probe}, epoch {now.epoch}"),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    needs="rows with noise, made by two workers or on two ranks",
)
