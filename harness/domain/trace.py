"""A recording measured against the oracle: plain numbers that need no torch to read.

Terms. An *update* is one consumption of gradients by the optimizer(s), or a step that a GradScaler
skipped. Its *window* is every forward whose gradient flowed back since the update before. The
*true gradient* is recomputed by the oracle on a pristine copy of the workload, in double precision,
from the samples that entered, the parameters then, and an objective. All norms are L2.
"""

from typing import Literal

from pydantic import Field

from harness.domain.branch import Unentered
from harness.domain.record import Record
from harness.domain.update import Match, MicroBatch, ParameterMatch, Update

__all__ = [
    "BackwardSeen",
    "Learning",
    "Match",
    "MicroBatch",
    "ParameterMatch",
    "ProbeTrace",
    "Program",
    "RankTrace",
    "ScalerSeen",
    "SegmentSeen",
    "Trace",
    "Update",
]


class BackwardSeen(Record):
    """One call of backward."""

    loss: float | None
    """Value of its root; ``None`` when it is no scalar."""
    gradients_finite: bool
    """Whether all gradients were finite afterwards."""
    after_update: int
    """Number of updates that had happened before."""
    factor: float | None = None
    """Its root over what torch's loss function had returned for it, loss scale taken out: 0.25 for
    ``criterion(output, y) / 4``; ``None`` where that is not one mean.
    """


class ScalerSeen(Record):
    """One call on a GradScaler."""

    method: Literal["scale", "unscale_", "step", "update"]
    """Which."""
    enabled: bool
    """Whether the scaler was."""
    scale_before: float
    """Loss scale before."""
    scale_after: float
    """Loss scale after."""
    skipped: bool | None
    """For ``step``: whether it was skipped."""
    raised: str | None
    """Message of its exception."""
    after_update: int
    """Number of updates that had happened before."""


class RankTrace(Record):
    """One rank's part of a probe."""

    rank: int
    """Which."""
    updates: tuple[Update, ...]
    """In order."""
    backwards: tuple[BackwardSeen, ...]
    """In order."""
    scaler: tuple[ScalerSeen, ...]
    """In order."""
    batches_yielded: int
    """Batches that the bound loader handed out."""
    batches_lost: int
    """Those of which no sample's gradient ever reached an optimizer although their gradient was
    computed or should have been.
    """
    lost_at_end: int
    """How many of the lost ones form the short tail of a pass."""
    unrecognised: tuple[str, ...]
    """Inputs with rows that are in no data set, by description."""
    implicit_updates: int
    """Times the parameters changed without an optimizer, once a backward had run."""


class SegmentSeen(Record):
    """What ran between two reads of a clock."""

    forwards: int
    """Calls of the model."""
    backwards: int
    """Calls of backward."""
    clips: int
    """Calls of a clipping function."""
    clipped_gradients: int
    """Gradients that those calls were given, at least one each when they had something to clip."""
    steps: int
    """Optimizer steps."""
    backwards_before: int | None = None
    """Calls of backward that had run before it; ``None`` in traces of earlier days."""
    batches: int = 0
    """Batches that a loader handed out."""


class Program(Record):
    """How the program ended, and what it said."""

    outcome: Literal["returned", "raised", "exited", "unbound", "not-completed"]
    """``not-completed``: killed, timed out, or its books do not close."""
    exception: str | None
    """Type of the exception."""
    message: str | None
    """Message, or why it did not complete."""
    line: int | None
    """Line of the program."""
    during: str | None
    """Function of torch that raised."""
    ours: bool
    """Whether not completing is a fault of the harness or the machine."""
    texts: tuple[str, ...]
    """What it printed, logged and warned, in order."""
    reported_before_backward: bool | None
    """In a poisoned probe: whether something was printed or raised after the poisoned forward and
    before any later backward.
    """
    source: str = ""
    """The program as it ran, after names were mapped; empty when it was not bound."""
    bound: tuple[str, ...] = ()
    """What its free names were taken for, and what was mapped or replaced."""
    calls: tuple[str, ...] = ()
    """What was called once it had been executed."""
    untrue: str | None = None
    """Why gradients of this run are not those of a loss: which model gives others than the
    derivatives of its outputs. ``None`` where nothing speaks against them.
    """
    unentered: tuple[Unentered, ...] | None = None
    """Branches that touch training and that the run did not enter; ``None`` where nobody knows."""

    @property
    def as_run(self) -> str:
        """What was run, as one text: names and mappings as comments, the program, the calls."""
        notes = [f"# {line}" for note in self.bound for line in note.splitlines()]
        return "\n".join([*notes, self.source, *self.calls]) if self.source else ""


class Learning(Record, extra="ignore"):  # traces of earlier days say more
    """Loss of the workload's own objective over all data, by the oracle, at recorded parameters."""

    before: float
    """At the initial parameters."""
    after: float
    """At the last ones."""
    parameters_identical: bool | None
    """Whether the last parameters equal, bit for bit, those of the plain loop; ``None`` if not
    compared.
    """
    own_optimizer: bool
    """Whether the program trained with an optimizer that it built: its learning rate is then its
    own choice.
    """
    moved: dict[str, float]
    """Relative change of each parameter from first to last."""
    printed_norms: dict[str, tuple[float, ...]]
    """Every gradient norm of each parameter that a diagnostic could truthfully have printed during
    the run.
    """
    printed_statistics: dict[str, dict[str, tuple[float, ...]]] = Field(default_factory=dict)
    """Other statistics of each parameter's gradient, by what they are (``over-weights``, ``rms``,
    ``mean-abs``, ``max-abs``, ``std``), moment by moment.
    """


class ProbeTrace(Record, extra="ignore"):  # traces of earlier days say more
    """One probe of one candidate, measured."""

    probe: str
    """Name."""
    world_size: int
    """Ranks."""
    workload: str
    """Workload's name."""
    parts: tuple[str, ...] = ()
    """Parts of its model that are trained against each other, an optimizer each."""
    program: Program
    """How it ended."""
    ranks: tuple[RankTrace, ...]
    """Rank by rank."""
    ranks_disagree: float | None
    """Largest relative difference between ranks of a consumed gradient or of the parameters after
    an update; ``None`` with one rank.
    """
    segments: tuple[SegmentSeen, ...]
    """Between clock reads, on rank 0."""
    learning: Learning | None
    """What training achieved; ``None`` when nothing was recorded to measure it."""
    contradiction: str | None = None
    """Why the record cannot be true, if it cannot: nothing passes on it."""
    wall_seconds: float = 0.0
    """Wall-clock time of the execution."""

    @property
    def updates(self) -> tuple[Update, ...]:
        """Updates of rank 0."""
        return self.ranks[0].updates if self.ranks else ()


class Trace(Record):
    """Every probe of one candidate."""

    probes: tuple[ProbeTrace, ...]
    """In the scenario's order."""

    def probe(self, name: str | None) -> ProbeTrace | None:
        """The probe of that name."""
        return next((p for p in self.probes if p.probe == name), None)
