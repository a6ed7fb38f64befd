"""A recording measured against the oracle: plain numbers that need no torch to read.

Terms. An *update* is one consumption of gradients by the optimizer(s), or a step that a GradScaler
skipped. Its *window* is every forward whose gradient flowed back since the update before. The
*true gradient* is recomputed by the oracle on a pristine copy of the workload, in double precision,
from the samples that entered, the parameters then, and an objective. All norms are L2.
"""

from typing import Literal

from harness.domain.record import Record
from harness.domain.scenario import Objective


class ParameterMatch(Record):
    """One parameter's part in an update."""

    name: str
    """Name of the parameter in the workload's model."""
    expected_norm: float
    """Norm of its true gradient."""
    consumed_norm: float | None
    """Norm of what the optimizer consumed; ``None`` when it had no gradient for it (absent is not
    zero).
    """
    dot: float
    """Inner product of the two; 0 when absent."""


class Match(Record):
    """What the optimizer consumed, beside the true gradient under one objective."""

    objective: Objective
    """Which true gradient."""
    expected_norm: float
    """Its norm."""
    consumed_norm: float
    """Norm of the consumed gradient."""
    cosine: float
    """Cosine between the two; 0 where one of them is zero."""
    relative_error: float
    """``|consumed - true| / |true|``."""
    direction_error: float
    """``|consumed/|consumed| - true/|true||``: 0 when they point the same way, whatever their
    sizes.
    """
    parameters: tuple[ParameterMatch, ...]
    """The same by parameter."""

    @property
    def ratio(self) -> float:
        """Norm of the consumed gradient over that of the true one; infinite when the true one is 0."""
        return self.consumed_norm / self.expected_norm if self.expected_norm else float("inf")


class MicroBatch(Record):
    """One forward whose gradient flowed back, seen from an update."""

    forward: int
    """Id of the forward on its rank."""
    rank: int
    """Rank it ran on."""
    samples: tuple[int, ...] | None
    """Samples that entered, as indices into the rank's data; ``None`` when a row was not
    recognised.
    """
    real_samples: int
    """How many of them carry weight (padding does not)."""
    in_window: bool
    """Whether it belongs to this update's window; the others are of earlier windows."""
    coefficient: float | None
    """How much of its gradient reached the optimizer: 1 in full, 0 wiped, <1 clipped. ``None`` if
    not separable.
    """
    weight: float | None
    """Total weight that the loss gave to its samples, loss scale taken out: 1/N when the loss was
    divided by N. ``None`` if the loss is another.
    """
    objective_error: float | None
    """Relative distance of its output-gradient from a multiple of the workload's own loss; ``None``
    if not computed.
    """
    loss_scale: float
    """Loss scale in force at its backward; 1 without a scaler."""
    autocast: str | None
    """Element type of autocast in its forward."""


class Update(Record):
    """One update on one rank."""

    index: int
    """Position among the rank's updates, from 0."""
    skipped: bool
    """Whether a GradScaler (or a fused kernel) left the parameters alone."""
    micro_batches: tuple[MicroBatch, ...]
    """Its window, then those of up to two windows before; on several ranks, of all ranks."""
    window_size: int
    """Micro-batches of this rank in its window."""
    short: bool
    """Whether the window is shorter than usual because the data ended."""
    matches: tuple[Match, ...]
    """Consumed against true, one for each objective that could be computed; empty when the gradient
    is not finite.
    """
    consumed_norm: float
    """Norm of the consumed gradient; NaN or infinite as it was."""
    consumed_finite: bool
    """Whether every element was finite."""
    unexplained: float | None
    """Part of the consumed gradient, relative to it, that no combination of micro-batches gives."""
    unexplained_by_parameter: float | None
    """The same when each parameter may have a factor of its own (clipping per layer or group)."""
    changed_after_step: float | None
    """Relative change of the gradients between the step and the next event; a clip after the step
    shows here.
    """
    late_threshold: float | None = None
    """Smallest threshold of a clip between the step and the next event; ``None`` without one."""
    tolerance: float
    """Relative error that rounding can cause here (element type, number of terms)."""
    loss_scale: float
    """Loss scale in force when the gradients were consumed; 1 without a scaler."""
    learning_rates: tuple[float, ...]
    """Learning rate of every group."""
    optimizer: str
    """Class name."""
    recomputed: bool = True
    """Whether the oracle recomputed the true gradient; ``False`` where the program trains a model
    of its own.
    """
    parameters_followed: bool | None
    """Whether the new parameters follow from the old ones and the consumed gradient; ``None`` where
    the optimizer is unknown.
    """
    overwritten: float = 0.0
    """How far something else than an optimizer moved the parameters between this update and the
    next, over how far the update did; infinite where the update did nothing.
    """
    parameters_finite: bool
    """Whether all parameters were finite afterwards."""
    rounds: float
    """Rounds of synchronisation per parameter since the update before: reduced floating elements
    over parameters.
    """
    timed: bool = False
    """Whether the program had read a clock before it."""
    scheduler_steps: int
    """Scheduler steps between this update and the next (or the end)."""
    left_over: float | None = None
    """Norm of what was in the gradients before the window's first backward, over what that added;
    ``None`` where it cannot be told.
    """
    clip_calls: tuple[str, ...]
    """Clipping functions called in its window, with how many gradients and what they returned; they
    explain, values decide.
    """
    story: tuple[str, ...] = ()
    """What happened since the update before, in order, one line an event; for people alone."""

    def match(self, objective: Objective) -> Match | None:
        """The match under one objective, if it was computed."""
        return next((m for m in self.matches if m.objective == objective), None)

    @property
    def window(self) -> tuple[MicroBatch, ...]:
        """The micro-batches of this update alone."""
        return tuple(m for m in self.micro_batches if m.in_window)


class BackwardSeen(Record):
    """One call of backward."""

    loss: float | None
    """Value of its root; ``None`` when it is no scalar."""
    gradients_finite: bool
    """Whether all gradients were finite afterwards."""
    after_update: int
    """Number of updates that had happened before."""


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

    @property
    def as_run(self) -> str:
        """What was run, as one text: names and mappings as comments, the program, the calls."""
        notes = [f"# {line}" for note in self.bound for line in note.splitlines()]
        return "\n".join([*notes, self.source, *self.calls]) if self.source else ""


class Learning(Record):
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
    true_norms: dict[str, float]
    """True gradient norm of each parameter at the initial parameters, over all data; empty if not
    compared.
    """
    printed_norms: dict[str, tuple[float, ...]]
    """Every gradient norm of each parameter that a diagnostic could truthfully have printed during
    the run.
    """


class ProbeTrace(Record):
    """One probe of one candidate, measured."""

    probe: str
    """Name."""
    world_size: int
    """Ranks."""
    workload: str
    """Workload's name."""
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
    oracle_problem: str | None = None
    """Why parts could not be measured."""
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
