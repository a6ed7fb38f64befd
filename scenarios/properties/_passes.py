"""Facts of the workload ``loading``, as properties read them."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from harness.domain.record import Record
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, inconclusive


class Batch(Record):
    """One batch that was trained on."""

    samples: tuple[int | None, ...]
    """The row of each sample; ``None`` where it could not be told."""
    noise: tuple[int | None, ...]
    """What was added to each row, by number; ``None`` where nothing was."""


class Pass(Record):
    """One pass over a loader, in which batches were trained on."""

    workers: int
    """Workers of the loader."""
    pinned: bool
    """Whether it pins its batches."""
    drop_last: bool
    """Whether it drops a short last batch."""
    batches: tuple[Batch, ...]
    """In order."""

    @property
    def samples(self) -> tuple[int | None, ...]:
        """The rows in order."""
        return tuple(sample for batch in self.batches for sample in batch.samples)

    @property
    def order(self) -> tuple[frozenset[int | None], ...]:
        """The rows of each batch, in order of the batches."""
        return tuple(frozenset(batch.samples) for batch in self.batches)

    def worker_of(self, batch: int) -> int:
        """Which worker made a batch."""
        return batch % self.workers if self.workers else 0


class Report(Record):
    """One validation loss that was reported."""

    said: float
    """The value."""
    over_samples: float
    """The mean over all samples of the validation set, at the parameters then."""
    over_batches: float
    """The mean of the means of its batches."""


class Rank(Record):
    """What one rank did."""

    passes: tuple[Pass, ...]
    """Passes, in order."""
    outside: int
    """Batches that were trained on outside of any pass over a loader."""
    reports: tuple[Report, ...]
    """Reports, in order."""
    copies: tuple[bool, ...]
    """Copies to the device that nobody waits for: whether each is from pinned memory."""
    cuda_in_workers: int
    """How often a worker touched CUDA."""


class Facts(Record):
    """One run."""

    samples: int
    """Rows of the training set."""
    batch_size: int
    """Rows that a batch is meant to have."""
    ranks: tuple[Rank, ...]
    """By rank."""


_FACTS = TypeAdapter(Facts)


def facts_of(probe: ProbeTrace) -> Facts | None:
    """The facts of a probe; ``None`` where its workload has none of these."""
    try:
        return _FACTS.validate_python(probe.facts)
    except ValidationError:
        return None


@dataclass(frozen=True, slots=True)
class Epoch:
    """The same pass of all ranks."""

    where: str
    """``usual, epoch 2``."""
    probe: ProbeTrace
    """The probe."""
    facts: Facts
    """Its facts."""
    passes: tuple[Pass, ...]
    """One of each rank."""

    @property
    def samples(self) -> tuple[int | None, ...]:
        """Rows of all ranks together."""
        return tuple(sample for one in self.passes for sample in one.samples)


def epochs_of(probe: ProbeTrace) -> Iterator[Epoch]:
    """The epochs that all ranks had."""
    facts = facts_of(probe)
    if facts is None or len(facts.ranks) != probe.world_size:
        return
    for number, passes in enumerate(zip(*(rank.passes for rank in facts.ranks), strict=False), 1):
        yield Epoch(f"{probe.probe}, epoch {number}", probe, facts, passes)


def unclear(name: str, trace: Trace) -> Verdict | None:
    """Why nothing can be said of the rows, if so."""
    for probe in trace.probes:
        facts = facts_of(probe)
        if facts is None:
            return inconclusive(name, f"In {probe.probe} nothing was seen of loaders.")
        if any(rank.outside for rank in facts.ranks):
            sentence = f"In {probe.probe} batches came from no DataLoader, so no epoch can be told."
            return inconclusive(name, sentence)
        if any(None in epoch.samples for epoch in epochs_of(probe)):
            return inconclusive(
                name,
                f"In {probe.probe} the model was given rows that are not those of the data set.",
            )
    return None
