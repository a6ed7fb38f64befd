"""A recording measured against the oracle: plain numbers that need no torch to read.

Terms. An *update* is one consumption of gradients by the optimizer(s), or a step that a GradScaler
skipped. Its *window* is every forward whose gradient flowed back since the update before. The
*true gradient* is recomputed by the oracle on a pristine copy of the workload, in double precision,
from the samples that entered, the parameters then, and an objective. All norms are L2.
"""

from typing import Literal

from pydantic import Field, JsonValue

from harness.domain.branch import Unentered
from harness.domain.event import ScheduleCourse, TestEnded, UnheldParameter
from harness.domain.record import Record
from harness.domain.resumption import Resumption
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


class Program(Record):
    """How the program ended, and what it printed."""

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
    untrue: str | None = None
    """Which model's gradients are not the derivatives of its outputs, so that gradients of this run
    are not those of a loss; ``None`` where nothing suggests that.
    """
    unentered: tuple[Unentered, ...] | None = None
    """Branches that touch training and were not entered; ``None`` where that is not known."""
    unheld: tuple[UnheldParameter, ...] = ()
    """Parameters that nobody trains though they get gradients."""
    piled_up: int = 0
    """Evaluations of a closure, within a step, on top of the gradients of the one before."""
    grouped: bool = True
    """Whether it wanted a group of processes, as far as that is known."""
    accumulates_over: int | None = None
    """How many micro-batches an update gathers, as far as the program names such a number."""
    counted_twice: int = 0
    """Steps that consumed a gradient which one loss had given twice."""
    unscaled: int = 0
    """Steps by a GradScaler that consumed the gradient of a loss without its scale."""
    constant_terms: int = 0
    """Losses that went backward with a term that hangs on gradients without a graph."""
    constant_values: tuple[float, ...] = ()
    """What terms without a gradient added up to in the first losses that had any."""
    misfed: tuple[str, ...] = ()
    """Losses that were given what they do not take: ``cross_entropy of what softmax returned``."""
    critics_misled: int = 0
    """Steps that trained a critic by the loss of a policy, through an advantage; counted up to 3."""
    flagged_modules: tuple[str, ...] = ()
    """What was set on modules or parameters and freezes or thaws none."""
    moved_frozen: tuple[str, ...] = ()
    """Parameters that steps moved after they were frozen, their gradients being tensors of zeros."""
    half_clipped: int = 0
    """Steps of optimizers that were clipped while scaled, when another one was unscaled."""
    moved_rows: tuple[str, ...] = ()
    """Parameters of which rows moved that had a gradient at backward, and at no step."""
    decayed_norms: tuple[str, ...] = ()
    """Weights of layers that normalise, all of which decay though a group is spared that."""
    averaged_with_themselves: int = 0
    """How often a parameter was averaged with itself: the average shares its memory with it."""
    restored_themselves: int = 0
    """How often, after an update, a kept state was put back onto itself: it was no copy."""
    states_of_others: int = 0
    """How many models loaded a state of whose names they have none (``strict=False``)."""
    averages_made_again: int = 0
    """How often an average of weights was made before a step had changed them, if that is the rule."""
    average_of_newest: float | None = None
    """The part of the newest weights in averages that are nearly copies of them, where all are."""
    back_in_training: tuple[str, ...] = ()
    """Types of parts that were put into evaluation, and back into training with the whole before they
    were called.
    """
    noisy_targets: tuple[str, ...] = ()
    """Types of frozen networks that were called without gradients in training mode, for one loss after
    the other, and drop activations.
    """
    zero_factors: tuple[str, ...] = ()
    """Matrices that are zero in every number and got gradients of zeros, in each of many steps."""
    stale_statistics: tuple[str, ...] = ()
    """Types of averages of weights that were asked with batch norm's statistics of other weights."""
    states_cut: int = 0
    """Windows of several time steps in each of which a recurrent layer was given its own state without
    a graph; 0 where it was ever given one with a graph.
    """
    rate_as_factor: float | None = None
    """The highest number that the function of a ``LambdaLR`` returns, where that is the very rate which
    it is multiplied with.
    """
    rates_made_equal: tuple[float, ...] = ()
    """The lowest and the highest learning rate with which groups were made that always stepped with one,
    without a schedule; nothing where there are none.
    """
    rates_undone: int = 0
    """How often a rate that a schedule had set was not stepped with, where none ever was."""
    unmoved_schedules: tuple[str, ...] = ()
    """Types of schedules of an optimizer that steps, where a program in its own world moved none."""
    same_orders: int = 0
    """Passes of training whose DistributedSampler shuffled as in one before."""
    function_ends_after: int | None = None
    """Steps after which the function of its one ``LambdaLR`` has come down to its end, about."""
    course: ScheduleCourse | None = None
    """How its one schedule goes on, where the number of its passes is known."""
    divided_twice: int = 1
    """By what most losses were divided two times in a row; 1 where none was."""
    ranks: int | None = None
    """How many ranks it starts or waits for, where it says that itself."""
    options: tuple[str, ...] = ()
    """Options of its command line that manage gradients and were off, turned on."""
    resumption: Resumption | None = None
    """What it took up of what it had saved, where it was run twice for it."""

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
