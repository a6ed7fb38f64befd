"""What loops train on, declared without torch: names and the parameters each workload takes.

``harness.workloads`` builds them. A scenario names one and overrides parameters; a probe overrides
some more. Everything that the properties later rely on is said here in words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from harness.domain.record import Record

Activation = Literal["tanh", "relu", "sigmoid"]
OptimizerName = Literal["sgd", "momentum", "adam", "adamw"]


class WorkloadParameters(Record):
    """Parameters of every workload."""

    batches: int = Field(default=14, ge=1, le=2000)
    """Batches in one pass over the loader, on each rank. The default leaves 2 over after windows of
    4.
    """
    batch_size: int = Field(default=6, ge=1, le=4096)
    """Samples in a batch; ``uneven`` varies it."""
    uneven: bool = True
    """Whether batches differ in size, so that the mean of their means is not the mean over samples."""
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Samples in successive batches, repeated over the loader, in place of ``batch_size``. Empty: sizes
    repeat every fourth batch, so that all full windows of 4 hold the same number of samples.
    """
    features: int = Field(default=8, ge=1, le=4096)
    """Width of one input row."""
    input_scale: float = 1.0
    """Factor on the inputs."""
    target_scale: float = 1.0
    """Factor on the targets; with a squared loss it sets the size of the gradient."""
    optimizer: OptimizerName = "sgd"
    """Optimizer bound to the free name. SGD by default: Adam hides every global factor."""
    learning_rate: float = 0.05
    """Learning rate of that optimizer."""
    accumulation_steps: int = Field(default=4, ge=1, le=64)
    """Value of the free name that means it."""
    epochs: int = Field(default=2, ge=1, le=50)
    """Value of free names such as ``num_epochs``."""


class Mlp(WorkloadParameters):
    """A small fully connected network with a mean squared error."""

    hidden: int = Field(default=12, ge=1, le=4096)
    """Width of the hidden layers."""
    depth: int = Field(default=2, ge=1, le=400)
    """Number of hidden layers."""
    activation: Activation = "tanh"
    """Nonlinearity after each hidden layer."""
    outputs: int = Field(default=3, ge=1, le=512)
    """Width of the output."""
    plain_targets: bool = False
    """Whether the targets of an output of one column have none: (n,)."""
    classes: bool = False
    """Whether the targets are classes, one for each output, and the loss is cross-entropy."""
    init_gain: float = 1.0
    """Factor on the initial weights; far below 1, signals vanish with depth."""
    elastic: bool = False
    """Whether what is lent is stretched or cut where a program does not take it as it is."""


class DeepResidual(WorkloadParameters):
    """A very deep residual classifier without normalisation, whose gradients explode when training
    goes on.
    """

    hidden: int = Field(default=16, ge=2, le=1024)
    """Width of the residual stream."""
    depth: int = Field(default=60, ge=1, le=400)
    """Number of residual blocks."""
    branch_gain: float = 0.5
    """Size of the initial weights of each branch: growth per block is about 1 + branch_gain**2 / 4.
    """
    outputs: int = Field(default=3, ge=1, le=512)
    """Number of classes."""


class PositiveLoss(WorkloadParameters):
    """A rate times an exposure; a custom loss takes the prediction's logarithm and its inverse.

    The rate is positive whatever the weights. So predictions are positive while exposures are,
    exactly zero where the exposure is, and negative where a row corrects an earlier one.
    """

    hidden: int = Field(default=12, ge=1, le=1024)
    """Width of the hidden layer."""
    adverse: bool = False
    """Whether some batches push predictions to exact zeros and negative values."""
    adverse_from: int = Field(default=6, ge=0)
    """Index of the first adverse batch; all later ones are adverse too."""
    poison_at: int | None = Field(default=None, ge=0)
    """Index of a batch with NaN in an input and a target; a later one has it in an input alone.
    ``None``: no such batch.
    """


class Padded(WorkloadParameters):
    """Batches in which only some samples are real; the rest is padding that a mask excludes.

    Rows of padding look like any other. Their label is -100, which cross-entropy leaves out too.
    """

    batch_size: int = Field(default=64, ge=1, le=4096)
    """Rows in each batch, padding included; ``uneven`` and ``sizes`` are of no effect."""
    real_counts: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(32, 58, 45), min_length=1)
    """Real samples of each micro-batch, repeated over the loader; at most ``batch_size`` of them
    count.
    """
    hidden: int = Field(default=12, ge=1, le=1024)
    """Width of the hidden layer."""
    outputs: int = Field(default=3, ge=1, le=512)
    """Number of classes."""


class Transformer(WorkloadParameters):
    """A small transformer encoder that classifies token sequences; some batches spike.

    A spike is one mislabelled sequence with a rare token whose embedding is far too long: what the
    residual stream carries to the head is as long, and so is the gradient of the head.
    """

    layers: int = Field(default=2, ge=1, le=24)
    """Encoder layers."""
    width: int = Field(default=16, ge=4, le=2048)
    """Model width."""
    heads: int = Field(default=2, ge=1, le=32)
    """Attention heads; they divide ``width``."""
    vocabulary: int = Field(default=40, ge=8, le=65536)
    """Number of tokens, the rare one included."""
    length: int = Field(default=10, ge=4, le=2048)
    """Tokens in a sequence; the first ones are unique to it."""
    outputs: int = Field(default=3, ge=2, le=512)
    """Number of classes."""
    spike_every: int = Field(default=0, ge=0)
    """The last of every so many batches spikes; 0 = none does."""
    spike_size: float = 1000.0
    """How much longer the embedding of the rare token is than that of any other."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width}")
        return self


class Language(WorkloadParameters):
    """A small recurrent language model: tokens to the logits of the next one at each place."""

    vocabulary: int = Field(default=24, ge=8, le=65536)
    """Number of tokens."""
    length: int = Field(default=10, ge=4, le=2048)
    """Tokens in a row."""
    width: int = Field(default=12, ge=4, le=2048)
    """Width of embeddings and of the recurrent state."""
    learning_rate: float = 2.0
    """Learning rate of the lent optimizer."""
    uneven: bool = False
    """Whether batches differ in size; a state that is carried on does not fit then."""
    ragged: bool = False
    """Whether rows end early, each batch in another way: later targets are -100, which none counts."""


class Cnn(WorkloadParameters):
    """A small convolutional classifier that trains stably."""

    channels: int = Field(default=4, ge=1, le=512)
    """Channels of the two convolutions."""
    colours: int = Field(default=1, ge=1, le=16)
    """Channels of an image."""
    side: int = Field(default=6, ge=4, le=256)
    """Height and width of an image."""
    batch_norm: bool = False
    """Whether batch norm stands behind each convolution."""
    outputs: int = Field(default=3, ge=2, le=512)
    """Number of classes."""


class TwoPart(WorkloadParameters):
    """A pretrained ``backbone`` with small gradients and a new ``head`` with large ones."""

    hidden: int = Field(default=16, ge=1, le=2048)
    """Width of the features between the two."""
    outputs: int = Field(default=3, ge=1, le=512)
    """Width of the output."""
    head_gain: float = Field(default=20.0, gt=0.0)
    """How many times smaller the varying part of each feature is than the part that is always 1."""


class Gan(WorkloadParameters):
    """A generator and a discriminator that are trained against each other, an optimizer each."""

    latent: int = Field(default=8, ge=1, le=4096)
    """Width of the noise that the message names; the generator takes noise of any width."""
    hidden: int = Field(default=12, ge=1, le=4096)
    """Width of the hidden layers of both."""
    gain: float = Field(default=1.0, gt=0.0)
    """Factor on the discriminator's initial weights, squared for its last layer: gradients of both
    networks grow with it.
    """


WORKLOADS: dict[str, type[WorkloadParameters]] = {
    "mlp": Mlp,
    "deep-residual": DeepResidual,
    "positive-loss": PositiveLoss,
    "padded": Padded,
    "transformer": Transformer,
    "language": Language,
    "cnn": Cnn,
    "two-part": TwoPart,
    "gan": Gan,
}
"""Every workload by name, with the schema of its parameters."""


@dataclass(frozen=True, slots=True)
class DeclaredWorkload:
    """A workload that a package or a bank brings. It is declared without torch, and built with it."""

    name: str
    """The name under which scenarios list it."""
    parameters: type[WorkloadParameters]
    """The schema of its parameters, with defaults."""
    builder: Callable[["WorkloadSpec"], object]
    """Gives the ``harness.workloads.Workload`` of a spec. Import torch inside: only where programs
    run and are measured is it called.
    """


DECLARED: dict[str, DeclaredWorkload] = {}
"""What packages and banks declared, by name."""


def declare(workload: DeclaredWorkload) -> None:
    """Add a workload to those that scenarios may name.

    Raises:
        ValueError: there is another one of that name.
    """
    if DECLARED.get(workload.name) != workload and workload.name in WORKLOADS:
        raise ValueError(f"there is a workload {workload.name} already")
    DECLARED[workload.name] = workload
    WORKLOADS[workload.name] = workload.parameters


class WorkloadSpec(Record):
    """A workload with its parameters: enough to build the same bits in any process."""

    name: str
    """One of ``WORKLOADS``."""
    parameters: SerializeAsAny[WorkloadParameters]
    """Its parameters, an instance of the class that ``WORKLOADS`` names."""
    seed: int = 0
    """Seed of the model's initial values and of the data."""
    world_size: int = 1
    """Number of ranks; each trains on different data."""

    @field_validator("parameters", mode="before")
    @classmethod
    def _of_the_named_workload(cls, value: object, info: ValidationInfo) -> object:
        schema = WORKLOADS.get(info.data.get("name", ""))
        if schema is None:
            raise ValueError(f"there is no workload of that name; there are {', '.join(WORKLOADS)}")
        return schema.model_validate(value) if isinstance(value, Mapping) else value

    def with_parameters(self, overrides: Mapping[str, object]) -> Self:
        """The same workload with parameters replaced; unknown names raise ``ValidationError``."""
        merged = {**self.parameters.model_dump(), **overrides}
        return self.model_copy(update={"parameters": type(self.parameters).model_validate(merged)})
