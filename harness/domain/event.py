"""What can happen while a program runs, event by event. No opinion.

A recorder in the candidate's own process writes them, so nothing here is to be believed where the
oracle can recompute it.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from harness.domain.branch import Unentered
from harness.domain.record import Record


class Start(Record):
    """The worker is bound and about to run the program. Tensors: ``param:<name>`` for every
    parameter.
    """

    kind: Literal["start"] = "start"
    """Discriminator."""
    torch_version: str
    """Version of torch."""
    notes: tuple[str, ...] = ()
    """What binding mapped or replaced, for people."""
    source: str = ""
    """The program as it runs, after names were mapped."""
    calls: tuple[str, ...] = ()
    """What is called once it has been executed: ``train(model, loader)``."""
    sampled: bool = False
    """Whether the model is so large that tensors of parameter size are written as norm and samples.
    """


class BatchYielded(Record):
    """The bound loader handed out a batch."""

    kind: Literal["batch"] = "batch"
    """Discriminator."""
    epoch: int
    """How often the loader was started before, from 0."""
    index: int
    """Position in the loader, from 0."""
    loader: str = "train"
    """Which loader."""


class Forward(Record):
    """The outermost tracked model was called. Tensors: ``input:<i>`` and ``output:<i>``;
    ``param:<name>`` where they changed unseen.
    """

    kind: Literal["forward"] = "forward"
    """Discriminator."""
    id: int
    """Number of this forward on this rank, from 0."""
    model: str
    """Which tracked model: ``model`` for the workload's, the name of a part of it where parts are
    trained apart, ``own1`` ... for those that the program defines.
    """
    training: bool
    """``model.training`` at the call."""
    differentiable: bool
    """Whether the output can carry gradient."""
    autocast: str | None
    """Element type of an active autocast, ``None`` when there is none."""
    learning_rates: tuple[float, ...] = ()
    """Learning rate of every parameter group of every optimizer alive then."""
    attached: bool = False
    """Whether an input was computed from something that can carry gradient: what another model
    made, and not detached.
    """
    frozen: tuple[str, ...] = ()
    """Parameters that asked for no gradient then."""


class OutputGradient(Record):
    """Gradient flowed back into an output of a forward. Tensor: ``grad`` (dL/dout, loss scale
    included).
    """

    kind: Literal["output_gradient"] = "output_gradient"
    """Discriminator."""
    forward: int
    """Id of the forward."""
    output: int
    """Which of its outputs."""


class Backward(Record):
    """A call of backward returned or raised.

    Tensors: ``grad:<name>`` of every parameter that then had a gradient; ``inc:<name>``, what this
    call added, where the program trains a model of its own.
    """

    kind: Literal["backward"] = "backward"
    """Discriminator."""
    function: Literal["backward", "grad"]
    """``torch.autograd.backward`` (also through ``Tensor.backward``) or ``torch.autograd.grad``."""
    roots: tuple[float | None, ...]
    """Values of scalar roots; ``None`` for a root that is no scalar."""
    loss_scale: float | None
    """Scale of the one enabled GradScaler that had scaled a loss by then; ``None`` without one."""
    gradients_finite: bool
    """Whether every gradient was finite afterwards."""
    raised: str | None = None
    """Message of the exception, if it raised."""
    create_graph: bool = False
    """Whether its own result can be differentiated again, as a gradient penalty needs it."""
    seed: float | None = None
    """The gradient that it was given for its one scalar root: ``loss.backward(torch.tensor(0.25))``."""
    returned: tuple[float, ...] = ()
    """Means that torch's loss functions had returned since the call before: what the roots were made
    of.
    """


class Clip(Record):
    """A clipping function of torch was called. It explains; values decide."""

    kind: Literal["clip"] = "clip"
    """Discriminator."""
    function: str
    """``clip_grad_norm_``, ``clip_grads_with_norm_``, ``clip_grad_value_``, ``get_total_norm``."""
    threshold: float | None
    """``max_norm`` or ``clip_value``."""
    returned: float | None
    """The norm that it returned."""
    parameters: int
    """How many parameters with a gradient it was given."""


class ScalerCall(Record):
    """A method of a GradScaler was called."""

    kind: Literal["scaler"] = "scaler"
    """Discriminator."""
    scaler: int
    """Which scaler, by order of construction."""
    method: Literal["scale", "unscale_", "step", "update"]
    """Which method."""
    enabled: bool
    """``is_enabled()``."""
    scale_before: float
    """Loss scale before the call; 1.0 when disabled."""
    scale_after: float
    """Loss scale after it."""
    skipped: bool | None = None
    """For ``step``: whether the optimizer's step was left out because of non-finite gradients."""
    raised: str | None = None
    """Message of the exception, if it raised."""


class ParameterGroup(Record):
    """The hyperparameters of one group as they were when the optimizer stepped."""

    parameters: tuple[str, ...]
    """Names of its parameters."""
    numbers: dict[str, float]
    """Numeric hyperparameters: ``lr``, ``momentum``, ``weight_decay``, ``beta1`` ..."""
    flags: dict[str, bool]
    """Boolean hyperparameters: ``nesterov``, ``amsgrad`` ..."""


class OptimizerStep(Record):
    """An optimizer stepped. Tensors: ``grad:<name>`` as consumed, after closures and own hooks,
    ``param:<name>`` after.
    """

    kind: Literal["optimizer_step"] = "optimizer_step"
    """Discriminator."""
    optimizer: int
    """Which optimizer, by order of first step."""
    type: str
    """Qualified class name."""
    groups: tuple[ParameterGroup, ...]
    """Its groups."""
    fused_scale: float | None = None
    """``grad_scale`` that a fused kernel divides by; the consumed gradient is ``grad / fused_scale``."""
    fused_skip: bool = False
    """Whether the fused kernel found non-finite gradients and left the parameters alone."""
    closures: int = 0
    """How often it called its closure."""
    own: bool = False
    """Whether the program built this optimizer, rather than being given it."""


class SchedulerStep(Record):
    """A learning-rate scheduler stepped (not counting its construction)."""

    kind: Literal["scheduler_step"] = "scheduler_step"
    """Discriminator."""
    learning_rates: tuple[float, ...]
    """Learning rates of its optimizer after it."""
    before: tuple[float, ...] = ()
    """Learning rates of its optimizer before it; none where it was told which step it is."""
    planned: int | None = None
    """How many steps the schedule was made for, where it says so (``T_max``, ``total_steps``)."""
    reaches: bool = True
    """Whether the rates that it moved are those of an optimizer that had stepped by then."""


class Collective(Record):
    """A collective operation was issued, whoever issued it."""

    kind: Literal["collective"] = "collective"
    """Discriminator."""
    operation: str
    """``allreduce_``, ``broadcast_``, ``reduce_scatter`` ..."""
    elements: int
    """Number of elements."""
    floating: bool
    """Whether the elements are floating point (gradients are; bitmaps of unused parameters are not)."""
    size_bytes: int = 0
    """What the elements take."""


class Printed(Record):
    """Text left the program on standard output, standard error, ``logging`` or ``warnings``."""

    kind: Literal["text"] = "text"
    """Discriminator."""
    stream: Literal["stdout", "stderr", "log", "warning"]
    """Where."""
    text: str
    """What; long texts are cut."""


class ClockRead(Record):
    """The program read a clock or recorded a timing event."""

    kind: Literal["clock"] = "clock"
    """Discriminator."""
    clock: str
    """``time``, ``perf_counter``, ``monotonic``, ``cuda.Event``, ..."""


class Finished(Record):
    """The program is over. Tensors: ``param:<name>`` at the end."""

    kind: Literal["finished"] = "finished"
    """Discriminator."""
    outcome: Literal["returned", "raised", "exited", "unbound"]
    """How: ran through, raised, called exit, or never started because a name could not be bound."""
    exception: str | None = None
    """Type of the exception."""
    message: str | None = None
    """Its message; for ``unbound``, which name and why."""
    line: int | None = None
    """Line of the program (1-based) where it was raised."""
    during: str | None = None
    """Function of torch in which it was raised, if it was raised there."""
    untrue: str | None = None
    """Why gradients of this run are not those of a loss: which model gives others than the
    derivatives of its outputs. ``None`` where nothing speaks against them.
    """
    unentered: tuple[Unentered, ...] = ()
    """Branches that touch training and that the run did not enter."""


ENOUGH = "stopped by the harness, more of the same was to come"
"""How ``Finished.message`` begins of a program that would have trained far beyond what is needed."""

DATA_REPLACED = "data drawn at random: the workload's is used instead"
"""What the notes of a start say where the program's own data gave way."""

Event = Annotated[
    Start | BatchYielded | Forward | OutputGradient | Backward | Clip | ScalerCall | OptimizerStep
    | SchedulerStep | Collective | Printed | ClockRead | Finished,
    Field(discriminator="kind"),
]  # fmt: skip
"""Everything that can happen."""

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""The one reader of events: untrusted data in, typed events or ``ValidationError`` out."""
