"""What can happen while a program runs, event by event. No opinion.

A recorder in the candidate's own process writes them, so nothing here is to be believed where the
oracle can recompute it.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from harness.domain.branch import Unentered
from harness.domain.facts_of_run import FactsOfRun
from harness.domain.injection import OnePass
from harness.domain.record import Counted, Record, Said, Whole


class Start(Record):
    """The worker has bound the program and is about to run it. Tensors: ``param:<name>``, every
    parameter.
    """

    kind: Literal["start"] = "start"
    """Discriminator."""
    torch_version: Said
    """Version of torch."""
    notes: tuple[Said, ...] = Field(default=(), max_length=2_000)
    """What was lent, mapped or replaced, in words."""
    source: str = ""
    """The program as it runs, after names were mapped."""
    calls: tuple[Said, ...] = ()
    """What is called once the program's top level has run: ``train(model, loader)``."""
    sampled: bool = False
    """Whether the model is so large that its gradients and parameters are recorded as norm and
    samples.
    """
    own_world: bool = False
    """Whether model, data and loss are the program's own, so that nothing is recomputed."""


class BatchYielded(Record):
    """The bound loader handed out a batch."""

    kind: Literal["batch"] = "batch"
    """Discriminator."""
    epoch: Counted
    """How many passes over the loader began before this one."""
    index: Counted
    """Position in the loader, from 0."""
    loader: Said = "train"
    """Which loader."""


class Forward(Record):
    """The outermost tracked model was called. Tensors: ``input:<i>``, ``output:<i>``, and
    ``param:<name>`` of parameters that changed without an event.
    """

    kind: Literal["forward"] = "forward"
    """Discriminator."""
    id: Counted
    """Number of this forward on this rank, from 0."""
    model: Said
    """Which model: ``model`` is the workload's; a part's name where parts are trained against each
    other; ``own1``, ``own2``, ... those that the program defines.
    """
    training: bool
    """``model.training`` at the call."""
    modal: bool = True
    """Whether a layer of it works differently in evaluation, as dropout and batch norm do; of a model
    that is lent the reader's own may.
    """
    differentiable: bool
    """Whether a gradient can flow back through the output."""
    autocast: Said | None
    """Element type of autocast, or bfloat16 where all parameters have it; ``None`` otherwise."""
    learning_rates: tuple[float, ...] = ()
    """Learning rate of every parameter group of every optimizer that exists at the call."""
    attached: bool = False
    """Whether an input is attached to a graph, for example because another model computed it."""
    frozen: tuple[Said, ...] = ()
    """Parameters that do not require a gradient at the call."""
    sampled: bool = False
    """Whether gradients and parameters are recorded as norm and samples from here on, because what the
    program trains is large.
    """
    injected: OnePass | None = None
    """What the harness changed about it, if anything."""


class OutputGradient(Record):
    """A gradient flowed back into an output of a forward. Tensor: ``grad``, dL/dout with loss scale."""

    kind: Literal["output_gradient"] = "output_gradient"
    """Discriminator."""
    forward: Counted
    """Id of the forward."""
    output: Counted
    """Which of its outputs."""


class Backward(Record):
    """A call of backward, once it has returned or raised.

    Tensors: ``grad:<name>``, the gradient of every parameter that has one afterwards;
    ``inc:<name>``, what this call added to it, or returned for it, where the model is the program's
    own; ``ret:<name>``, what ``grad`` returned for it, as long as no optimizer has stepped.
    """

    kind: Literal["backward"] = "backward"
    """Discriminator."""
    function: Literal["backward", "grad"]
    """``torch.autograd.backward`` (also through ``Tensor.backward``) or ``torch.autograd.grad``."""
    roots: tuple[float | None, ...]
    """The tensors that backward started from: values of scalars, ``None`` for others."""
    loss_scale: float | None
    """Scale of the enabled GradScaler that last scaled a loss; ``None`` if none did."""
    gradients_finite: bool
    """Whether every gradient was finite afterwards."""
    raised: Said | None = None
    """Message of the exception, if it raised."""
    create_graph: bool = False
    """Whether the gradients can be differentiated again, as a gradient penalty needs."""
    seed: float | None = None
    """The gradient handed in for one scalar root: 0.25 for ``loss.backward(torch.tensor(0.25))``."""
    returned: tuple[tuple[Said, float], ...] = ()
    """The means that torch's loss functions returned since the call before, by function."""
    arrived: float | None = None
    """The gradient that arrived at the one of these means that one arrived at, whatever the program
    made of its value; loss scale and injected factor included.
    """
    weighed: tuple[tuple[float, int], ...] = ()
    """For each of torch's losses over classes that a gradient arrived at: that of each target that
    counts, loss scale and injected factor included, and how many these are.
    """
    times_mean: float | None = None
    """What a mean of several numbers, of whatever loss, was multiplied by to make the one scalar that
    it started from, loss scale included.
    """
    injected: float = 1.0
    """The known factor on the gradients that it started from, beside what the program asked for."""
    at_input: bool = False
    """Whether it reached a tensor that asks for a gradient, that no optimizer holds and that is no
    parameter: what an attack on the input looks at. Only of graphs that are looked at.
    """
    covers: bool = False
    """Whether a loss that went backward since the last step is part of what it started from.
    Only of graphs that are looked at.
    """
    line: Counted | None = None
    """The line of the program that called it, from 1; ``None`` where no line of its own file did."""


class Clip(Record):
    """A clipping function of torch was called. It explains a verdict; values decide it."""

    kind: Literal["clip"] = "clip"
    """Discriminator."""
    function: Said
    """``clip_grad_norm_``, ``clip_grads_with_norm_``, ``clip_grad_value_``, ``get_total_norm``."""
    threshold: float | None
    """``max_norm`` or ``clip_value``."""
    returned: float | None
    """The norm that it returned."""
    parameters: Counted
    """How many parameters with a gradient were passed to it."""


class ScalerCall(Record):
    """A method of a GradScaler was called."""

    kind: Literal["scaler"] = "scaler"
    """Discriminator."""
    scaler: Counted
    """Which scaler, numbered in order of construction."""
    method: Literal["scale", "unscale_", "step", "update"]
    """Which method."""
    enabled: bool
    """``is_enabled()``."""
    scale_before: float
    """Loss scale before the call; 1.0 when disabled."""
    scale_after: float
    """Loss scale after it."""
    skipped: bool | None = None
    """For ``step``: whether the optimizer's step was skipped because of non-finite gradients."""
    raised: Said | None = None
    """Message of the exception, if it raised."""


class ParameterGroup(Record):
    """One parameter group, with its hyperparameters at the moment of the step."""

    parameters: tuple[Said, ...]
    """Names of its parameters."""
    numbers: dict[Said, float]
    """Numeric hyperparameters: ``lr``, ``momentum``, ``weight_decay``, ``beta1`` ..."""
    flags: dict[Said, bool]
    """Boolean hyperparameters: ``nesterov``, ``amsgrad`` ..."""


class OptimizerStep(Record):
    """An optimizer stepped. Tensors: ``grad:<name>``, the gradients that it consumed, after its
    closure and hooks, and ``param:<name>``, the parameters afterwards; in a program's own world also
    ``was:<name>``, parameters that the program had changed by itself before it.
    """

    kind: Literal["optimizer_step"] = "optimizer_step"
    """Discriminator."""
    optimizer: Counted
    """Which optimizer, numbered in order of first step."""
    type: Said
    """Qualified class name."""
    groups: tuple[ParameterGroup, ...]
    """Its groups."""
    fused_scale: float | None = None
    """``grad_scale`` by which a fused kernel divides: it consumes ``grad / fused_scale``."""
    fused_skip: bool = False
    """Whether a fused kernel found non-finite gradients and left the parameters alone."""
    closures: Counted = 0
    """How many times it called its closure."""
    own: bool = False
    """Whether the program built this optimizer itself instead of being given it."""
    default_rate: float | None = None
    """The learning rate that it was built with, for groups that bring none of their own."""
    named_norms: tuple[tuple[Said, float], ...] = Field(default=(), max_length=8)
    """What the program calls a norm where it steps, by name: a number that it logs."""


class ByHand(Record):
    """Parameters were changed without an optimizer after a backward. Tensors: ``param:<name>``, those
    that changed, as they are now, and ``grad:<name>``, all gradients as they were before.
    """

    kind: Literal["by_hand"] = "by_hand"
    """Discriminator."""
    numbers: tuple[tuple[Said, float], ...] = ()
    """What the program had at hand there, by name; the name of a literal is empty."""


class NothingRestored(Record):
    """A state was loaded into a model whose own memory it was: what had changed stays changed."""

    kind: Literal["nothing_restored"] = "nothing_restored"
    """Discriminator."""
    parameters: Counted
    """How many parameters were copied onto themselves."""


class SchedulerStep(Record):
    """A learning-rate scheduler stepped; the step in its constructor does not count."""

    kind: Literal["scheduler_step"] = "scheduler_step"
    """Discriminator."""
    learning_rates: tuple[float, ...]
    """Learning rates of its optimizer afterwards."""
    before: tuple[float, ...] = ()
    """Learning rates of its optimizer before; empty if the call said which step it is."""
    planned: Whole | None = None
    """The length of the schedule in steps, where it has one (``T_max``, ``total_steps``)."""
    reaches: bool = True
    """Whether it moved an optimizer that had stepped by then."""
    metric: float | None = None
    """The number that it was given to judge by, as ``ReduceLROnPlateau`` is."""
    positions: Whole = 1
    """How many places along the schedule it went; more than one only where the call said which place
    it is.
    """


class Collective(Record):
    """A collective operation was issued, by the program or by a library."""

    kind: Literal["collective"] = "collective"
    """Discriminator."""
    operation: Said
    """``allreduce_``, ``broadcast_``, ``reduce_scatter`` ..."""
    elements: Counted
    """Number of elements."""
    floating: bool
    """Whether the elements are floating point: gradients are, bitmaps of unused parameters are not."""
    size_bytes: Counted = 0
    """Size of the elements in bytes."""


class WorkloadNote(Record):
    """A workload that brings its own world noted something. Its own properties know what it means."""

    kind: Literal["noted"] = "noted"
    """Discriminator."""
    name: Said
    """What happened."""
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    """Its particulars."""


class TestEnded(Record):
    """A test of the pytest file that judges the program ended."""

    kind: Literal["tested"] = "tested"
    """Discriminator."""
    name: Said
    """The test with its parameters, ``test_it[3]``; empty where none could be run."""
    run: Literal["before", "answer", "after"]
    """What was tested: the answer's program, or the posted one before and after it."""
    outcome: Literal["passed", "failed", "skipped", "error"]
    """How it ended."""
    message: Said
    """What it said where it did not pass."""
    line: Counted | None
    """The line of the file of tests where it broke off."""
    assertions: Counted
    """How many of its assertions held."""


class Printed(Record):
    """The program wrote to standard output or standard error, logged or warned."""

    kind: Literal["text"] = "text"
    """Discriminator."""
    stream: Literal["stdout", "stderr", "log", "warning"]
    """Which of these."""
    text: Said
    """The text; long ones are cut."""


class ClockRead(Record):
    """The program read a clock or recorded a timing event."""

    kind: Literal["clock"] = "clock"
    """Discriminator."""
    clock: Said
    """``time``, ``perf_counter``, ``monotonic``, ``cuda.Event``, ..."""


class Finished(FactsOfRun):
    """The program is over, and what was found. Tensors: ``param:<name>`` at the end."""

    kind: Literal["finished"] = "finished"
    """Discriminator."""
    outcome: Literal["returned", "raised", "exited", "unbound", "scouted"]
    """It ran to its end, raised, called exit, or never started because a name could not be bound;
    ``scouted``: a scout found out the role (``exception``) of a name (``message``).
    """
    exception: Said | None = None
    """Type of the exception."""
    message: Said | None = None
    """Its message; for ``unbound``, which name and why."""
    line: Counted | None = None
    """Line of the program (1-based) that raised."""
    during: Said | None = None
    """Function of torch that raised, if one did."""
    unentered: tuple[Unentered, ...] = ()
    """Branches that touch training and were not entered."""
    lent: tuple[Said, ...] = Field(default=(), max_length=2_000)
    """What was lent to the program while it ran, in words: stand-ins, shortened loops, settings."""
    broken_off: bool = False
    """Whether it ended within a step of an optimizer."""


ENOUGH = "stopped by the harness, more of the same was to come"
"""Beginning of ``Finished.message`` for a program that trained far longer than needed."""

BUILDS_MODELS = "builds models of its own"
"""What they say where the program makes modules that it calls."""

TRAINED_FOR_IT = ": training"
"""How a note ends on a function that trains and is not shown."""

MADE_TO_FIT = "what is lent is stretched or cut wherever the program does not take it"
"""The note on a program whose numbers say little: only in which order it works."""

SEES_A_PART = "clip_grad_norm_: one part of the gradient on each rank, as under FSDP1"
"""The note on a program whose clip would see no more of a sharded model."""

LENT_LOSS = "with a loss that is computed above it"
"""What they say where the program goes back from a loss that it does not show."""

STEPPED_FOR_IT = "step after each batch"
"""What they say where the program makes no update and the harness steps for it."""

Event = Annotated[
    Start | BatchYielded | Forward | OutputGradient | Backward | Clip | ScalerCall | OptimizerStep
    | ByHand | NothingRestored | SchedulerStep | Collective | WorkloadNote | TestEnded | Printed
    | ClockRead | Finished,
    Field(discriminator="kind"),
]  # fmt: skip
"""Every kind of event."""

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Parses untrusted data into typed events, or raises ``ValidationError``."""
