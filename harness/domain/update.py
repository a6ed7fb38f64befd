"""One update of a trace: its window, and what the optimizer consumed beside the true gradient.

The terms are those of ``harness.domain.trace``.
"""

from harness.domain.record import Record
from harness.domain.scenario import Objective

CONDITION = 100.0
"""How much the separation of a gradient into micro-batches may enlarge its rounding error."""


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
    """``|consumed/|consumed| - true/|true||``: 0 when they point the same way, whatever their sizes."""
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
    """Samples that entered, as indices into the rank's data; ``None`` when a row was not recognised."""
    real_samples: int
    """How many of them carry weight (padding does not)."""
    in_window: bool
    """Whether it belongs to this update's window; the others are of earlier windows."""
    coefficient: float | None
    """How much of its gradient reached the optimizer: 1 in full, 0 wiped, <1 clipped. ``None`` if
    not separable.
    """
    share: float | None = None
    """Norm of what reached the optimizer of its gradient, over that of all that it consumed; only where
    one rank's window has two micro-batches.
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
    backwards: int = 1
    """How often gradient flowed back into it: 2 where backward ran over one graph twice."""
    after_batch: tuple[int, int] | None = None
    """Pass and place of the batch that the bound loader had last handed out at its forward."""
    on_padding: float = 0.0
    """Part of its output-gradient, relative to it, that lies on samples which carry no weight."""
    both_ways: bool = False
    """Whether its output-gradient has both signs: some outputs are too large for its loss, some too
    small.
    """


class Update(Record):
    """One update on one rank."""

    index: int
    """Position among the rank's updates, from 0."""
    trains: str = ""
    """Which part of the model it trains, where parts are trained against each other; empty for the
    whole.
    """
    beside: float = 0.0
    """Norm of the gradients that the other parts had when it was made, before any clip."""
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
    same_rest: tuple[int, ...] = ()
    """Earlier updates in which what no micro-batch explains, weight decay aside, pointed the
    same way.
    """
    elements_cut_at: float | None = None
    """The limit at which each element of what backward computed was cut off, whoever did it; ``None``
    where none was, or more was done.
    """
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
    moved: float | None = None
    """How far it moved the parameters, relative to their norm; ``None`` in traces of earlier days."""
    output_differs: float = 0.0
    """Largest relative distance of an output of its window from the recomputed one: far above
    rounding where the program changed the workload's model in place; 0 for a model of its own.
    """
    output_spread: float | None = None
    """Standard deviation of the model's outputs over the samples of its window, over that of the
    targets (over 1 where these are classes); ``None`` where the samples are unknown or too few.
    """
    parameters_finite: bool
    """Whether all parameters were finite afterwards."""
    rounds: float
    """Rounds of synchronisation per parameter since the update before: reduced floating elements
    over parameters.
    """
    timed: bool = False
    """Whether the program had read a clock before it and read one again after it."""
    scheduler_steps: int
    """Scheduler steps between this update and the next (or the end)."""
    scheduled_elsewhere: int = 0
    """Those of them that moved the rates of an optimizer which had not stepped by then."""
    scheduled_for: int | None = None
    """How many steps the schedule that stepped was made for, where it says so."""
    scheduled_early: int = 0
    """Scheduler steps between its window's last backward and its step, where these took a learning
    rate above 0 away from it.
    """
    scheduled_ahead: int = 0
    """Scheduler steps before the first backward of all, at a learning rate above 0: only the first
    update has any.
    """
    left_over: float | None = None
    """Norm of what was in the gradients before the window's first backward, over what that added;
    ``None`` where it cannot be told.
    """
    clip_calls: tuple[str, ...]
    """Clipping functions called in its window, with how many gradients, the threshold and what they
    returned; they explain, values decide.
    """
    frozen: tuple[str, ...] = ()
    """Parameters that asked for no gradient in any forward of its window."""
    story: tuple[str, ...] = ()
    """What happened since the update before, in order, one line an event; for people alone."""

    @property
    def coefficient_error(self) -> float:
        """Rounding error of a micro-batch's coefficient, relative to the largest, at most."""
        return CONDITION * self.tolerance

    def match(self, objective: Objective) -> Match | None:
        """The match under one objective, if it was computed."""
        return next((m for m in self.matches if m.objective == objective), None)

    @property
    def window(self) -> tuple[MicroBatch, ...]:
        """The micro-batches of this update alone."""
        return tuple(m for m in self.micro_batches if m.in_window)
