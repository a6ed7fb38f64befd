"""What a recorder found of the whole of a program. A recording ends with it; a trace repeats it."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from harness.domain.record import Counted, Record, Said, Whole
from harness.domain.resumption import Resumption


class ScheduleCourse(Record):
    """How the one learning-rate schedule of a program goes on, whatever part of it was seen."""

    passes: Counted
    """How often the program goes through its data, as it says, or as it is lent the number."""
    batches: Counted
    """How many batches the longest pass had."""
    peak: Counted
    """After how many steps it has its highest rate."""
    end: Counted
    """After how many steps it has its lowest rate behind its highest one."""
    left: float
    """That rate, as a part of the highest one; 1 where no end is known."""
    rises: bool = False
    """Whether it rises again from there."""


UnheldWhy = Literal[
    "thawed", "hidden", "forgotten", "replaced", "exchanged", "checkpointed", "cut", "wiped", "idle",
]  # fmt: skip
"""Why it cannot be meant that no optimizer holds a parameter: it asked for no gradient at first and
does now; a module keeps it where ``parameters()`` does not find it; it is applied to what is trained;
nothing that an optimizer holds gets a gradient any more; or an optimizer holds what is in no module.
``checkpointed`` and ``cut``: an optimizer does hold it, and reentrant checkpoints, or the loss, let no
gradient through; ``wiped``: its gradient was cleared before each step.
"""


class UnheldParameter(Record):
    """A parameter that got a gradient again and again, is in no optimizer, and never changed; or that
    is in one whose steps never found a gradient.
    """

    name: Said
    """Its name in the module that holds it, or its sizes."""
    why: UnheldWhy
    """What speaks against an intention."""
    backwards: Counted
    """How many calls of backward reached it."""


Option = Annotated[str, StringConstraints(pattern=r"^--[\w-]{1,40}(=[\w.-]{1,20})?$")]
"""One option of a command line."""


class FactsOfRun(Record):
    """Facts that belong to no single event. Nothing of it is to be believed where the oracle can
    compute it anew.
    """

    untrue: Said | None = None
    """Which model's gradients are not the derivatives of its outputs, so that gradients of this run
    are not those of a loss; ``None`` where nothing suggests that.
    """
    unheld: tuple[UnheldParameter, ...] = ()
    """Parameters that nobody trains though they get gradients. Only of graphs that are looked at."""
    piled_up: Counted = 0
    """Evaluations of a closure, within a step, that began on top of the gradients of the one before.
    Only of graphs that are looked at.
    """
    grouped: bool = True
    """Whether it wanted a group of processes. Only in a program's own world."""
    accumulates_over: Whole | None = None
    """How many micro-batches an update gathers, as far as the program names such a number. Only in a
    program's own world.
    """
    counted_twice: Counted = 0
    """Steps that consumed a gradient which one loss had given twice.
    Only of graphs that are looked at.
    """
    unscaled: Counted = 0
    """Steps by a GradScaler that consumed the gradient of a loss without its scale.
    Only of graphs that are looked at.
    """
    constant_terms: Counted = 0
    """Losses that went backward with a term that hangs on gradients without a graph.
    Only of graphs that are looked at.
    """
    constant_values: tuple[float, ...] = Field(default=(), max_length=16)
    """What terms without a gradient added up to in the first losses that had any."""
    misfed: tuple[Said, ...] = Field(default=(), max_length=8)
    """Losses that were given what they do not take: ``cross_entropy of what softmax returned``."""
    critics_misled: Counted = 0
    """Steps that trained a critic by the loss of a policy, through an advantage that was left in the
    graph; counted up to 3.
    """
    flagged_modules: tuple[Said, ...] = Field(default=(), max_length=8)
    """What was set on modules or parameters and freezes or thaws none: ``Linear.requires_grad = False``,
    ``Parameter.require_grad = False``.
    """
    moved_frozen: tuple[Said, ...] = Field(default=(), max_length=8)
    """Parameters that steps moved after they were frozen, their gradients being tensors of zeros."""
    half_clipped: Counted = 0
    """Steps of optimizers that were clipped while scaled, when another one was unscaled."""
    moved_rows: tuple[Said, ...] = Field(default=(), max_length=8)
    """Parameters of which rows moved that had a gradient at backward, and at no step."""
    decayed_norms: tuple[Said, ...] = Field(default=(), max_length=8)
    """Weights of layers that normalise, all of which decay though a group is spared that."""
    averaged_with_themselves: Counted = 0
    """How often a parameter was averaged with itself: the average shares its memory with it."""
    restored_themselves: Counted = 0
    """How often, after an update, a kept state was put back onto itself: it was no copy."""
    states_of_others: Counted = 0
    """How many models loaded a state of whose names they have none (``strict=False``)."""
    averages_made_again: Counted = 0
    """How often an average of weights was made before a step had changed them, if that is the rule."""
    averages_rounded_away: Counted = 0
    """How often a tensor of a half type took a smaller part of the weights than its digits can hold."""
    average_of_newest: float | None = None
    """The part of the newest weights in averages that are nearly copies of them, where all are."""
    back_in_training: tuple[Said, ...] = Field(default=(), max_length=8)
    """Types of parts that were put into evaluation, and back into training with the whole before they
    were called.
    """
    noisy_targets: tuple[Said, ...] = Field(default=(), max_length=8)
    """Types of frozen networks that were called without gradients in training mode, for one loss after
    the other, and drop activations.
    """
    zero_factors: tuple[Said, ...] = Field(default=(), max_length=8)
    """Matrices that are zero in every number and got gradients of zeros, in each of many steps."""
    stale_statistics: tuple[Said, ...] = Field(default=(), max_length=8)
    """Types of averages of weights that were asked with batch norm's statistics of other weights."""
    states_cut: Counted = 0
    """Windows of several time steps in each of which a recurrent layer was given its own state without
    a graph; 0 where it was ever given one with a graph.
    """
    rate_as_factor: float | None = None
    """The highest number that the function of a ``LambdaLR`` returns, where that is the very rate which
    it is multiplied with.
    """
    rates_made_equal: tuple[float, ...] = Field(default=(), max_length=2)
    """The lowest and the highest learning rate with which groups were made that always stepped with one,
    without a schedule; nothing where there are none.
    """
    rates_undone: Counted = 0
    """How often a rate that a schedule had set was not stepped with, where none ever was."""
    unmoved_schedules: tuple[Said, ...] = Field(default=(), max_length=8)
    """Types of schedules of an optimizer that steps, where a program in its own world moved none."""
    same_orders: Counted = 0
    """Passes of training whose DistributedSampler shuffled as in one before."""
    function_ends_after: int | None = None
    """Steps after which the function of its one ``LambdaLR`` has come down to its end, about."""
    course: ScheduleCourse | None = None
    """How its one schedule goes on, where the number of its passes is known."""
    divided_twice: Counted = 1
    """By what most losses were divided two times in a row. Only of graphs that are looked at."""
    ranks: int | None = Field(default=None, ge=1, lt=1 << 53)
    """How many ranks it starts or waits for, where it says that itself. Only in its own world."""
    options: tuple[Option, ...] = Field(default=(), max_length=8)
    """Options of its command line that manage gradients and were off, turned on: ``--amp``,
    ``--accum=4``. Only in a program's own world.
    """
    resumption: Resumption | None = None
    """What it took up of what it had saved. Only of a program that is run twice for it."""
