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
    """Factor on the loss: far below 1 gradients are small, far above they are large."""
    norm_before: float
    """Norm of all gradients before the call."""
    norm_after: float
    """After it."""
    finite: bool
    """Whether all are finite afterwards."""
    graph: tuple[str, ...]
    """Parameters whose gradient carries a graph afterwards."""
    wiped: tuple[str, ...]
    """Parameters that had a gradient and have none left."""
    ratios: dict[str, float]
    """Norm after over norm before, by parameter."""
    cosines: dict[str, float]
    """Cosine between before and after, by parameter."""
    values_changed: bool
    """Whether parameters changed."""
    differs_from_torch: float | None = None
    """Relative distance from what torch's function of that name leaves."""


class InspectionSeen(_Seen):
    """A function that looks at gradients, called on a sound model and on a broken one."""

    verified: str | None
    """Which true quantity it returned."""
    verified_value: float | None = None
    """That quantity."""
    said_when_broken: bool
    """Whether it says something else where there is a NaN."""
    gradients_changed: bool = False
    """Whether gradients differ afterwards."""
    values_changed: bool = False
    """Whether parameters differ afterwards."""
    norm_before: float = 0.0
    """Norm of all gradients before."""
    norm_after: float = 0.0
    """After."""
    told: str = ""
    """What statements without a function print of a model with a NaN."""
    returned: tuple[float, ...] = ()
    """Numbers that it returned."""


class Adverse(Record):
    """A loss at one edge."""

    what: str
    """Which edge."""
    loss: float
    """Its value."""
    gradient_finite: bool
    """Whether its gradient is finite."""
    gradient: float
    """Norm of its gradient."""


class LossSeen(_Seen):
    """A loss at every edge of its domain."""

    bad: tuple[Adverse, ...]
    """Edges where value or gradient is not finite."""
    tried: int
    """How many edges."""
    largest_gradient: float = 0.0
    """Largest finite gradient norm."""


class ModuleSeen(_Seen):
    """A module, forward and backward."""

    own_forward: bool = True
    """Whether it defines ``forward``; otherwise its layers were called in order."""
    finite: bool = True
    """Whether its output is finite."""
    first_over_last: float | None = None
    """Gradient norm of its first weight over that of its last, at the start."""
    parameters: int = 0
    """How many it has."""
    unreached: tuple[str, ...] = ()
    """Parameters that no gradient reaches within three updates."""
    gradient_finite: bool = True
    """Whether all gradients are finite."""
    single_gradient: float | None = None
    """Largest gradient norm of a weight of one."""
    stacked_gradient: float | None = None
    """Gradient norm of fifty, one after the other."""
    he_gradient: float | None = None
    """The same under He initialisation."""


class InitialisationSeen(_Seen):
    """An initialisation applied to twenty layers."""

    raised_without_bias: str | None
    """What it raised where layers have no bias."""
    signal: dict[str, float]
    """Spread of the output over that of the input, by activation."""


class SchedulerSeen(_Seen):
    """The learning rate of each update."""

    rates: tuple[float, ...]
    """From the first update on."""
    left_at: float | None = None
    """Rate after statements that set it by hand; ``None`` where they set none."""
    base: float = 0.0
    """Rate before them."""
    updates: int = 0
    """Updates that they made."""


class Taken(Record):
    """One step of an optimizer."""

    consumed: float
    """Norm of what it took."""
    fresh: float
    """Norm of what the last backward added to it."""
    cosine: float
    """Cosine between the two."""


class UpdateFunctionSeen(_Seen):
    """A function that goes back and steps, called three times."""

    steps: tuple[Taken, ...] = ()
    """Every step."""
    backwards: int = 0
    """Backward passes."""
    large_batch: float | None = None
    """Relative distance from the gradient of the mean over all real tokens of all ranks."""


class ConfigurationSeen(_Seen):
    """Statements that set something up."""

    made: tuple[str, ...] = ()
    """Names that exist afterwards."""
    missing: tuple[str, ...] = ()
    """Methods that it calls on a model and that torch's modules do not have."""


class Facts(Record, Generic[S]):
    """What came of all that an example defines."""

    raised: str | None
    """Why nothing, or not everything, could be measured."""
    measured: tuple[S, ...]
    """One a function, class or schedule; of a function that changes gradients, one a call."""


class GradientFunctionReport(Record):
    """What the driver of that name reports."""

    driver: Literal["gradient-function"]
    """Discriminator."""
    facts: Facts[GradientFunctionSeen]
    """What it saw."""


class InspectionReport(Record):
    """What the driver of that name reports."""

    driver: Literal["inspection"]
    """Discriminator."""
    facts: Facts[InspectionSeen]
    """What it saw."""


class LossReport(Record):
    """What the driver of that name reports."""

    driver: Literal["loss"]
    """Discriminator."""
    facts: Facts[LossSeen]
    """What it saw."""


class ModuleReport(Record):
    """What the driver of that name reports."""

    driver: Literal["module"]
    """Discriminator."""
    facts: Facts[ModuleSeen]
    """What it saw."""


class InitialisationReport(Record):
    """What the driver of that name reports."""

    driver: Literal["initialisation"]
    """Discriminator."""
    facts: Facts[InitialisationSeen]
    """What it saw."""


class SchedulerReport(Record):
    """What the driver of that name reports."""

    driver: Literal["scheduler"]
    """Discriminator."""
    facts: Facts[SchedulerSeen]
    """What it saw."""


class UpdateFunctionReport(Record):
    """What the driver of that name reports."""

    driver: Literal["update-function"]
    """Discriminator."""
    facts: Facts[UpdateFunctionSeen]
    """What it saw."""


class ConfigurationReport(Record):
    """What the driver of that name reports."""

    driver: Literal["configuration"]
    """Discriminator."""
    facts: Facts[ConfigurationSeen]
    """What it saw."""


Report = Annotated[
    GradientFunctionReport | InspectionReport | LossReport | ModuleReport | InitialisationReport
    | SchedulerReport | UpdateFunctionReport | ConfigurationReport,
    Field(discriminator="driver"),
]  # fmt: skip
"""What any driver reports."""
