"""A recording measured against the oracle: plain numbers that need no torch to read.

Terms. An *update* is one consumption of gradients by the optimizer(s), or a step that a GradScaler
skipped. Its *window* is every forward whose gradient flowed back since the update before. The
*true gradient* is recomputed by the oracle on a pristine copy of the workload, in double precision,
from the samples that entered, the parameters then, and an objective. All norms are L2.
"""

from typing import Literal

from pydantic import Field, JsonValue

from harness.domain.branch import Unentered
from harness.domain.event import TestEnded
from harness.domain.facts_of_run import FactsOfRun
from harness.domain.record import Record
from harness.domain.update import Match, MicroBatch, ParameterMatch, Unfollowed, Update
from harness.domain.wishes import Wishes

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
    """Value of the loss that it started from; ``None`` when that is no scalar."""
    gradients_finite: bool
    """Whether all gradients were finite afterwards."""
    after_update: int
    """How many updates came before it."""
    factor: float | None = None
    """The gradient of the loss at what torch's loss function returned, loss scale taken out, or the
    loss over that: 0.25 for ``criterion(output, y) / 4``. ``None`` where it was not made from one
    mean.
    """
    mean_of: str = ""
    """The function of torch that returned that mean."""
    times_own_mean: float | None = None
    """By what a mean that the program took itself was multiplied, loss scale taken out; ``None`` where
    its loss is none.
    """
    weighed: tuple[tuple[float, int], ...] = ()
    """For each of torch's losses over classes that it reached: the weight of each target that counts,
    loss scale taken out, and how many these are.
    """
    returned: bool = False
    """Whether the program got the gradients handed over (``torch.autograd.grad``) and may do with them
    what nobody sees.
    """
    put_by_hand: bool = False
    """Whether gradients lay in ``.grad`` afterwards although no backward had been called so far that
    leaves them there.
    """
    in_vain: bool = False
    """Whether no gradient flowed back into a forward, and those of the parameters are what they were:
    the loss is cut off from the model.
    """
    line: int | None = None
    """The line of the program that called it, from 1; ``None`` where no line of its own file did."""


class ScalerSeen(Record):
    """One call on a GradScaler."""

    method: Literal["scale", "unscale_", "step", "update"]
    """Name of the method."""
    enabled: bool
    """Whether the scaler was enabled."""
    scale_before: float
    """Loss scale before."""
    scale_after: float
    """Loss scale after."""
    skipped: bool | None
    """For ``step``: whether the optimizer's step was skipped."""
    raised: str | None
    """Message of its exception."""
    after_update: int
    """How many updates came before it."""
    scaler: int = 0
    """Which scaler, numbered in order of construction."""


class RankTrace(Record, extra="ignore"):  # traces of earlier days say more
    """One rank's part of a probe."""

    rank: int
    """Number of the rank."""
    updates: tuple[Update, ...]
    """Updates, in order."""
    backwards: tuple[BackwardSeen, ...]
    """Calls of backward, in order."""
    scaler: tuple[ScalerSeen, ...]
    """Calls on GradScalers, in order."""
    batches_yielded: int
    """Batches that the bound loader handed out."""
    batches_lost: int
    """How many of these contributed to no update, although their gradient was computed or should
    have been.
    """
    lost_at_end: int
    """How many of the lost batches form the short tail of a pass."""
    implicit_updates: int
    """How many times the parameters changed without an optimizer, after the first backward."""
    unfollowed: tuple[Unfollowed, ...] = ()
    """What else than an optimizer moved trained parameters between two updates, after the first
    backward or after the last update, where it is nothing that programs are known to do.
    """
    unused_forwards: int = 0
    """Forwards through which a gradient flowed after the last update."""
    judged_by: tuple[float, ...] = ()
    """The numbers that schedulers were given to judge by, in order."""
    left_behind: tuple[float, float, float] | None = None
    """The learning rate of a group that keeps it while that of another is moved by hand, which differs
    in its weight decay alone, and the lowest and highest of that one.
    """
    ended: str | None = None
    """How the program ended on this rank, as in ``Program.outcome``; ``None`` in traces of older
    versions.
    """


class SegmentSeen(Record):
    """What ran between two reads of a clock."""

    forwards: int
    """Calls of the model."""
    backwards: int
    """Calls of backward."""
    clips: int
    """Calls of a clipping function."""
    clipped_gradients: int
    """How many gradients those calls were given; at least one for each call that had any."""
    steps: int
    """Optimizer steps."""
    backwards_before: int | None = None
    """Calls of backward before this segment; ``None`` in traces of older versions."""
    batches: int = 0
    """Batches that a loader handed out."""


class Program(FactsOfRun):
    """How the program ended, what it printed, and what was found of the whole of it."""

    outcome: Literal["returned", "raised", "exited", "unbound", "not-completed"]
    """``not-completed``: it was killed, ran out of time, or its recording is incomplete."""
    exception: str | None
    """Type of the exception."""
    message: str | None
    """The exception's message, or why it did not complete."""
    line: int | None
    """Line of the program that raised."""
    during: str | None
    """Function of torch that raised."""
    ours: bool
    """Whether it did not complete because of the harness or the machine."""
    texts: tuple[str, ...]
    """What it printed, logged and warned, in order."""
    reported_before_backward: bool | None
    """In a poisoned probe: whether it printed or raised something after the poisoned forward and
    before any later backward.
    """
    source: str = ""
    """The program as it ran, after names were mapped; empty when it was not bound."""
    bound: tuple[str, ...] = ()
    """What its free names were taken to mean, and what was mapped or replaced."""
    calls: tuple[str, ...] = ()
    """What was called once its top level had run."""
    unentered: tuple[Unentered, ...] | None = None
    """Branches that touch training and were not entered; ``None`` where that is not known."""

    @property
    def as_run(self) -> str:
        """What was run, as one text: names and mappings as comments, the program, the calls."""
        notes = [f"# {line}" for note in self.bound for line in note.splitlines()]
        return "\n".join([*notes, self.source, *self.calls]) if self.source else ""


class Learning(Record, extra="ignore"):  # traces of earlier days say more
    """The workload's own loss over all of its data, computed by the oracle at recorded parameters."""

    before: float
    """At the initial parameters."""
    after: float
    """At the final parameters."""
    parameters_identical: bool | None
    """Whether the final parameters equal those of the plain loop, bit for bit; ``None`` if not
    compared.
    """
    own_optimizer: bool
    """Whether the program trained with an optimizer that it built, or on batches that it put
    together: its learning rate, and how many updates it makes, are then its own choice.
    """
    moved: dict[str, float]
    """Relative change of each parameter over the run."""
    printed_norms: dict[str, tuple[float, ...]]
    """For each parameter, every gradient norm that a diagnostic could truthfully have printed
    during the run.
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
    """Number of ranks."""
    workload: str
    """Workload's name."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Parameters of that workload, but for those that are as usual."""
    parts: tuple[str, ...] = ()
    """Parts of the model that are trained against each other, each by its own optimizer."""
    program: Program
    """How the program ended."""
    ranks: tuple[RankTrace, ...]
    """The ranks, in order."""
    ranks_disagree: float | None
    """Largest relative difference between ranks of a consumed gradient or of the parameters after
    an update; ``None`` with one rank.
    """
    same_rows: bool = False
    """Whether two ranks trained on the same rows throughout, and so agree without being synchronised."""
    brought_together: int = 0
    """How often parameters that ranks had trained apart were the same before the next update."""
    sampled: bool = False
    """Whether the model was too large for whole gradients, so that samples of them were recorded."""
    segments: tuple[SegmentSeen, ...]
    """What ran between clock reads, on rank 0."""
    restored_nothing: int = 0
    """How often, after an optimizer step, rank 0 loaded a state into the model whose memory it was."""
    learning: Learning | None
    """What training achieved; ``None`` when nothing was recorded to measure it by."""
    tests: tuple[TestEnded, ...] = ()
    """What the tests of a pytest file said, where one judges."""
    tampered: str | None = None
    """What the program replaced of that with which it was tested."""
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    """What the workload itself measured for properties of its own; empty for most."""
    contradiction: str | None = None
    """Why the record cannot be true, if it cannot; no property passes on such a record."""
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
    spoiled: ProbeTrace | None = None
    """The probe with one bad batch, where it was run (``harness.domain.spoiled``). It can show a
    fault and nothing else.
    """
    spoiled_gradients: ProbeTrace | None = None
    """The same with a loss that is finite and gradients that are not."""
    graded: ProbeTrace | None = None
    """The probe with gradients of all sizes, where it was run (``harness.domain.graded``). It can show
    a fault and nothing else.
    """
    resumed: ProbeTrace | None = None
    """The probe that takes up what it saved, where it was run (``harness.domain.resumed``). It can show
    a fault and nothing else.
    """
    ragged: ProbeTrace | None = None
    """The probe with different numbers of targets, where it was run (``harness.domain.ragged``). It can
    show a fault and nothing else.
    """
    wishes: Wishes = Wishes()
    """What the message that it answers asks for, where it is judged by its own settings."""

    @property
    def everything(self) -> tuple[ProbeTrace, ...]:
        """All probes that were run."""
        bad = (self.spoiled, self.spoiled_gradients)
        further = (*bad, self.graded, self.resumed, self.ragged)
        return (*self.probes, *(probe for probe in further if probe is not None))

    def probe(self, name: str | None) -> ProbeTrace | None:
        """The probe of that name."""
        return next((p for p in self.probes if p.probe == name), None)
