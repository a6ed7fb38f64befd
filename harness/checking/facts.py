"""What a driver reports from inside the jail: typed, and refused when it is anything else."""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import ConfigDict, Field

from harness.domain.record import Record


class _Seen(Record):
    # A driver may say more than is judged; what is judged has to be there and of its type.
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings")

    name: str
    """Function or class."""
    raised: str | None
    """Type and message of what it raised."""


S = TypeVar("S", bound=_Seen)


class GradientFunctionSeen(_Seen):
    """A function that changes gradients, called once."""

    size: float
    """What the loss was multiplied by before the call: far below 1 gradients are small, far above they
    are large.
    """
    norm_before: float
    """Norm of the gradients of all parameters before the call."""
    norm_after: float
    """The same after the call."""
    finite: bool
    """Whether no gradient holds a NaN or an infinity after the call."""
    graph: tuple[str, ...]
    """Names of parameters whose gradient is itself part of an autograd graph after the call."""
    wiped: tuple[str, ...]
    """Names of parameters that had a gradient before the call and have practically none (1e-9 of it) or
    no gradient after it.
    """
    ratios: dict[str, float]
    """Norm of the gradient after the call over that before it, by parameter name."""
    cosines: dict[str, float]
    """Cosine of the gradients before and after the call, by parameter name."""
    values_changed: bool
    """Whether the call changed the parameters themselves."""
    differs_from_torch: float | None = None
    """Relative distance from what torch's function of that name leaves."""


class InspectionSeen(_Seen):
    """A function that only looks at gradients, called on a sound model and on one with a NaN."""

    verified: str | None
    """Name of the true quantity that its result agrees with; ``None`` for none."""
    verified_value: float | None = None
    """The value of that quantity."""
    said_when_broken: bool
    """Whether its result, or what it prints, differs for the model with a NaN."""
    gradients_changed: bool = False
    """Whether the call changed a gradient."""
    values_changed: bool = False
    """Whether the call changed a parameter."""
    norm_before: float = 0.0
    """Norm of the gradients of all parameters before the call."""
    norm_after: float = 0.0
    """The same after the call."""
    told: str = ""
    """What the example prints of the model with a NaN, where it is statements without a function."""
    returned: tuple[float, ...] = ()
    """Numbers that it returned."""


class EdgeCase(Record):
    """A loss for one edge case."""

    what: str
    """The edge case, in words: ``prediction -1e-08``."""
    loss: float
    """The value of the loss there."""
    gradient_finite: bool
    """Whether its gradient there is finite."""
    gradient: float
    """Norm of its gradient there."""


class LossSeen(_Seen):
    """A loss for predictions at the edges of common domains: 0, tiny, negative, large, equal to the
    target.
    """

    bad: tuple[EdgeCase, ...]
    """The edge cases for which the loss or its gradient is not finite."""
    tried: int
    """Number of edge cases that were tried."""
    largest_gradient: float = 0.0
    """Largest gradient norm among those that are finite."""


class ModuleSeen(_Seen):
    """A module, run forward and backward."""

    own_forward: bool = True
    """Whether it defines ``forward``; otherwise its layers were called in order."""
    finite: bool = True
    """Whether its output is finite."""
    parameters: int = 0
    """Number of its parameter tensors."""
    unreached: tuple[str, ...] = ()
    """Names of parameters without a gradient, or with zeros only, after three updates."""
    gradient_finite: bool = True
    """Whether all gradients are finite."""
    single_gradient: float | None = None
    """Largest gradient norm of any weight of the module by itself; ``None`` as for the stack."""
    stacked_gradient: float | None = None
    """Gradient norm where fifty such modules follow one another; ``None`` where its output has another
    shape than its input.
    """
    he_gradient: float | None = None
    """As ``stacked_gradient``, with weights drawn by He initialisation."""


class InitialisationSeen(_Seen):
    """An initialisation applied to twenty layers."""

    raised_without_bias: str | None
    """What it raised on layers without a bias; ``None``: nothing."""
    signal: dict[str, float]
    """Standard deviation of the last layer's output over that of the input, by activation function."""


class SchedulerSeen(_Seen):
    """The learning rate of each update."""

    rates: tuple[float, ...]
    """The learning rate of each update, the first one first."""
    left_at: float | None = None
    """Learning rate that is left by statements which set it by hand; ``None`` where none do."""
    base: float = 0.0
    """Learning rate before those statements."""
    updates: int = 0
    """Number of updates that those statements made."""


class DriverFacts(Record, Generic[S]):
    """What a driver measured of everything that an example defines."""

    raised: str | None
    """What was raised where nothing, or not everything, could be measured; ``None``: nothing was."""
    measured: tuple[S, ...]
    """One entry for each function, class or schedule; for a function that changes gradients one for
    each call.
    """


class GradientFunctionReport(Record):
    """What the driver of that name reports."""

    driver: Literal["gradient-function"]
    """Discriminator."""
    facts: DriverFacts[GradientFunctionSeen]
    """What it saw."""


class InspectionReport(Record):
    """What the driver of that name reports."""

    driver: Literal["inspection"]
    """Discriminator."""
    facts: DriverFacts[InspectionSeen]
    """What it saw."""


class LossReport(Record):
    """What the driver of that name reports."""

    driver: Literal["loss"]
    """Discriminator."""
    facts: DriverFacts[LossSeen]
    """What it saw."""


class ModuleReport(Record):
    """What the driver of that name reports."""

    driver: Literal["module"]
    """Discriminator."""
    facts: DriverFacts[ModuleSeen]
    """What it saw."""


class InitialisationReport(Record):
    """What the driver of that name reports."""

    driver: Literal["initialisation"]
    """Discriminator."""
    facts: DriverFacts[InitialisationSeen]
    """What it saw."""


class SchedulerReport(Record):
    """What the driver of that name reports."""

    driver: Literal["scheduler"]
    """Discriminator."""
    facts: DriverFacts[SchedulerSeen]
    """What it saw."""


DriverReport = Annotated[
    GradientFunctionReport | InspectionReport | LossReport | ModuleReport | InitialisationReport
    | SchedulerReport,
    Field(discriminator="driver"),
]  # fmt: skip
"""What any driver reports."""
