"""One update of a trace: its window, and what the optimizer consumed beside the true gradient.

The terms are those of ``harness.domain.trace``.
"""

from harness.domain.record import Record
from harness.domain.scenario import Objective

CONDITION = 100.0
"""How much rounding error may grow when a gradient is separated into micro-batches."""


class ParameterMatch(Record):
    """One parameter's part of a match."""

    name: str
    """Name of the parameter in the workload's model."""
    expected_norm: float
    """Norm of its true gradient."""
    consumed_norm: float | None
    """Norm of what the optimizer consumed; ``None`` when it had no gradient for it, which is not a
    gradient of zero.
    """
    dot: float
    """Inner product of the two; 0 without a consumed gradient."""


class Match(Record):
    """The gradient that the optimizer consumed, compared with the true gradient under one objective."""

    objective: Objective
    """Which true gradient it is compared with."""
    expected_norm: float
    """Norm of the true gradient."""
    consumed_norm: float
    """Norm of the consumed gradient."""
    cosine: float
    """Cosine between the two; 0 where one of them is zero."""
    relative_error: float
    """``|consumed - true| / |true|``."""
    direction_error: float
    """``|consumed/|consumed| - true/|true||``: 0 when they point in the same direction, whatever
    their norms.
    """
    parameters: tuple[ParameterMatch, ...]
    """The same for each parameter."""

    @property
    def ratio(self) -> float:
        """Norm of the consumed gradient over that of the true one; infinite when the true one is 0."""
        return self.consumed_norm / self.expected_norm if self.expected_norm else float("inf")


class MicroBatch(Record, extra="ignore"):  # traces of earlier days say more
    """One forward through which a gradient flowed back, as a part of an update."""

    forward: int
    """Id of the forward on its rank."""
    rank: int
    """Rank it ran on."""
    samples: tuple[int, ...] | None
    """The samples that entered, as indices into the rank's data; ``None`` when a row was not
    recognised.
    """
    real_samples: int
    """How many of these carry weight; padding does not."""
    in_window: bool
    """Whether it belongs to this update's own window, or to an earlier one."""
    coefficient: float | None
    """How much of its gradient reached the optimizer: 1 all of it, 0 none (wiped), less than 1
    clipped. ``None`` if it cannot be separated from others.
    """
    share: float | None = None
    """Norm of what reached the optimizer of its gradient, over the norm of all that was consumed.
    Measured only for two micro-batches in one rank's window.
    """
    weight: float | None
    """Total weight that the loss gave to its samples, loss scale taken out: 1/N when the loss was
    divided by N. ``None`` if the loss is another one than the workload's.
    """
    objective_error: float | None
    """Relative distance of its output gradient from the nearest multiple of the workload's own;
    ``None`` if not computed.
    """
    uneven: float = 0.0
    """Relative distance of its output gradient, on real samples, from one weight for all of them."""
    loss_scale: float
    """Loss scale at its backward; 1 without a scaler."""
    autocast: str | None
    """Element type of autocast in its forward."""
    backwards: int = 1
    """How many times a gradient flowed back into it: 2 where backward ran twice over one graph."""
    after_batch: tuple[int, int] | None = None
    """Pass and index of the batch that the bound loader had handed out last when the forward ran."""
    on_padding: float = 0.0
    """Part of its output gradient that lies on samples without weight, relative to the whole."""
    at_input: bool = False
    """Whether its backward reached an input that asks for a gradient, as an attack's does."""
    evaluating: bool = False
    """Whether the model had been put into evaluation mode, after it had trained in training mode, and
    has layers that work differently there.
    """
    moved_after: bool = False
    """Whether the same rows entered once more in its window after the parameters had been moved."""
    both_ways: bool = False
    """Whether its output gradient has both signs, so that the loss pushes some outputs up and
    others down.
    """


class Unfollowed(Record):
    """A move of parameters that no update made."""

    after: int
    """Index of the update that it came after; -1 before the first."""
    parameter: str
    """The one that was moved farthest."""
    by: float
    """How far, relative to its norm."""


class Update(Record):
    """One update on one rank, with its window."""

    index: int
    """Position among the rank's updates, from 0."""
    trains: str = ""
    """The part of the model that it trains, where parts are trained against each other; else empty."""
    beside: float = 0.0
    """Norm of the gradients that the other parts held when it was made, before any clip."""
    skipped: bool
    """Whether a GradScaler, or a fused kernel, left the parameters alone."""
    micro_batches: tuple[MicroBatch, ...]
    """Those of its window, then those of up to two windows before it; those of all ranks, if there
    are several.
    """
    window_size: int
    """How many micro-batches of this rank are in its window."""
    short: bool
    """Whether the window is shorter than usual because the data ended."""
    matches: tuple[Match, ...]
    """Consumed beside true, one for each objective that could be computed; empty when the gradient
    is not finite.
    """
    consumed_norm: float
    """Norm of the consumed gradient; NaN or infinite as it was."""
    consumed_finite: bool
    """Whether every element of the consumed gradient was finite."""
    gradients: int | None = None
    """How many parameters had a gradient, be it one of zeros; ``None`` in traces of older versions."""
    unexplained: float | None
    """Relative part of the consumed gradient that is no linear combination of micro-batch gradients."""
    unexplained_by_parameter: float | None
    """The same, if each parameter may have its own factor, as in clipping per layer or group."""
    same_rest: tuple[int, ...] = ()
    """Earlier updates whose unexplained part, without weight decay, points in the same direction."""
    elements_cut_at: float | None = None
    """The value at which each element of the computed gradient was clipped, by whatever means;
    ``None`` if it was not, or not only that was done.
    """
    changed_after_step: float | None
    """Relative change of the gradients between the step and the next event, as from a clip after
    the step.
    """
    late_threshold: float | None = None
    """Smallest threshold of a clip between the step and the next event; ``None`` without such a clip."""
    tolerance: float
    """Relative error that rounding can cause here, by element type and number of terms."""
    loss_scale: float
    """Loss scale when the gradients were consumed; 1 without a scaler."""
    learning_rates: tuple[float, ...]
    """Learning rate of every group."""
    optimizer: str
    """Class name."""
    optimizers: tuple[int, ...] = ()
    """Which optimizers made it, in the order in which they stepped first."""
    recomputed: bool = True
    """Whether the oracle recomputed the true gradient; ``False`` where the program trains a model
    of its own.
    """
    parameters_followed: bool | None
    """Whether the new parameters follow from the old ones and the consumed gradient; ``None`` for
    an optimizer that the oracle does not know.
    """
    overwritten: float = 0.0
    """How far something else than an optimizer moved the parameters before the next update,
    relative to how far this update did; infinite where this update moved nothing.
    """
    trained_behind: float = 0.0
    """The same where it was along the gradient that this update consumed, or back along it; else 0."""
    kept_average: bool = False
    """Whether it began at averaged weights that an evaluation before it had put in."""
    moved: float | None = None
    """How far it moved the parameters, relative to their norm; ``None`` in traces of older versions."""
    output_differs: float = 0.0
    """Largest relative distance between a recorded output of its window and the recomputed one. Far
    above rounding where the program changed the workload's model in place; 0 for a model of its
    own.
    """
    output_spread: float | None = None
    """Standard deviation of the model's outputs over the samples of its window, relative to that of
    the targets (to 1 where these are classes); ``None`` where samples are unknown or too few.
    """
    parameters_finite: bool
    """Whether all parameters were finite afterwards."""
    rounds: float
    """Rounds of synchronisation since the update before: reduced floating-point elements over
    parameters.
    """
    exchanged: float = 0.0
    """What went over the ranks beside them (gathered, broadcast, sent), in parameters of four bytes."""
    timed: bool = False
    """Whether the program read a clock before it and again after it."""
    scheduler_steps: int
    """Scheduler steps between this update and the next (or the end)."""
    scheduled_elsewhere: int = 0
    """How many of these moved only an optimizer that had not stepped by then."""
    scheduled_for: int | None = None
    """Length in steps of the schedule that stepped, where it has one."""
    scheduled_early: int = 0
    """Scheduler steps between its window's last backward and its optimizer step, if the learning
    rate was above 0 before them.
    """
    scheduled_ahead: int = 0
    """Scheduler steps before the first backward of the run, at a learning rate above 0. Only the
    first update has any.
    """
    left_over: float | None = None
    """Norm of what was in ``.grad`` before the window's first backward, relative to what that
    backward added; ``None`` where it is not known.
    """
    began_clear: bool = False
    """Whether a backward of the window left exactly what it added: nothing older was there then."""
    named_norms: tuple[tuple[str, float], ...] = ()
    """What the program calls a norm where it steps, by name."""
    clip_calls: tuple[str, ...]
    """Clipping calls in its window: the number of gradients, the threshold and the result of each.
    They explain a verdict; values decide it.
    """
    frozen: tuple[str, ...] = ()
    """Parameters that required no gradient in any forward of its window."""
    story: tuple[str, ...] = ()
    """What happened since the update before, in order, one line for each event. For people only."""

    @property
    def coefficient_error(self) -> float:
        """Upper bound on the rounding error of a micro-batch's coefficient, relative to the largest
        one.
        """
        return CONDITION * self.tolerance

    def match(self, objective: Objective) -> Match | None:
        """The match under one objective, if it was computed."""
        return next((m for m in self.matches if m.objective == objective), None)

    @property
    def window(self) -> tuple[MicroBatch, ...]:
        """The micro-batches of its own window."""
        return tuple(m for m in self.micro_batches if m.in_window)
