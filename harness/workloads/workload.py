"""What every workload offers: to the program that trains on it, and to the oracle."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from pydantic import JsonValue
from torch import Tensor, nn

from harness.domain.recording import Recorded
from harness.domain.workload import WorkloadParameters, WorkloadSpec

Note = Callable[..., None]
"""``note(name, **facts)``: write down what happened, as a ``WorkloadNote``."""


@dataclass(frozen=True, slots=True)
class WorkloadBatch:
    """One micro-batch of one rank."""

    inputs: Tensor
    """What the model takes, one row a sample; every row of a rank's data is unique. (n, ...)"""
    target: Tensor
    """What the loss compares with. (n, ...)"""
    mask: Tensor | None
    """1.0 for a real sample and 0.0 for padding, where there is padding. (n,)"""
    samples: tuple[int, ...]
    """Index of each row in the rank's data. (n,)"""

    @property
    def weights(self) -> Tensor:
        """1.0 for every sample that counts. (n,)"""
        return self.mask if self.mask is not None else torch.ones(len(self.samples))


class Workload(ABC):
    """A model, data, a loss and an optimizer, bit-identical whenever it is built from the same
    spec.

    Nothing here draws from the global random state: every method seeds a generator of its own
    or saves and restores the state, so that the order of calls changes nothing.
    """

    def __init__(self, spec: WorkloadSpec) -> None:
        """Remember the spec; nothing is built yet."""
        self.spec = spec

    @property
    @abstractmethod
    def parameters(self) -> WorkloadParameters:
        """The spec's parameters, as the class of this workload."""

    @abstractmethod
    def model(self) -> nn.Module:
        """A fresh model with the initial parameters, in training mode."""

    @abstractmethod
    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """One pass over the rank's data, in order. Ranks hold different data, in the same sizes."""

    @abstractmethod
    def criterion(self) -> Callable[..., Tensor]:
        """The loss bound to free names such as ``criterion``: ``(output, target) -> scalar``, a
        mean over the batch.
        """

    @abstractmethod
    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """The loss of each sample. The objective is their weighted mean. ``output``: (n, ...) -> (n,)"""

    @property
    def carries_state(self) -> bool:
        """Whether a forward depends on more than its inputs, so that nobody can repeat it from them."""
        return False

    def parts(self) -> tuple[str, ...]:
        """Submodules that are trained against each other, an optimizer each; none by default."""
        return ()

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimizer bound to free names such as ``optimizer``."""
        p = self.parameters
        match p.optimizer:
            case "sgd":
                return torch.optim.SGD(parameters, lr=p.learning_rate)
            case "momentum":
                return torch.optim.SGD(parameters, lr=p.learning_rate, momentum=0.9)
            case "adam":
                return torch.optim.Adam(parameters, lr=p.learning_rate)
            case "adamw":
                return torch.optim.AdamW(parameters, lr=p.learning_rate)

    def extra_names(self) -> Mapping[str, object]:
        """Further free names that this workload's messages mention (``custom_loss``,
        ``pretrained_resnet``).
        """
        return {}

    def stage(self, rank: int, world_size: int, note: Note) -> Mapping[str, object] | None:  # noqa: ARG002 - for those that have one
        """What programs on a subject of its own find under their free names, by name or by a name of
        the table that means the same. They run as they are: loaders draw what the program's samplers
        say, and workers of loaders are played (``harness.sandbox.stage``). ``None``: names are lent by
        the table, and loaders hand out ``batches``.
        """
        return None

    def facts(self, ranks: Sequence[Sequence[Recorded]]) -> dict[str, JsonValue]:  # noqa: ARG002 - as above
        """What properties of its own need to know, read off the records of all ranks by the oracle."""
        return {}


def batch_sizes(parameters: WorkloadParameters) -> tuple[int, ...]:
    """Sizes of the batches: constant, cycling by +-1/3 so that neighbours in a window differ, or as the
    spec says.
    """
    base = parameters.batch_size
    if not parameters.uneven and not parameters.sizes:
        return (base,) * parameters.batches
    cycle = parameters.sizes or (base, max(1, base - base // 3), base + base // 3, max(1, base - 1))
    return tuple(cycle[i % len(cycle)] for i in range(parameters.batches))


def cut(
    inputs: Tensor, target: Tensor, sizes: Iterable[int], mask: Tensor | None = None
) -> tuple[WorkloadBatch, ...]:
    """Consecutive batches of the given sizes. ``inputs``: (N, ...), ``target``: (N, ...), ``mask``:
    (N,), N their sum.
    """
    batches: list[WorkloadBatch] = []
    first = 0
    for size in sizes:
        rows = slice(first, first + size)
        real = None if mask is None else mask[rows]
        batches.append(
            WorkloadBatch(inputs[rows], target[rows], real, tuple(range(first, first + size)))
        )
        first += size
    return tuple(batches)


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Layers draw initial values when they are made; the program's random numbers stay the same."""
    with torch.random.fork_rng(devices=[]):
        yield


def generator(spec: WorkloadSpec, *purpose: int) -> torch.Generator:
    """A generator that depends on the seed and the purpose alone."""
    seed = spec.seed * 1_000_003
    for part in purpose:
        seed = (seed + part + 1) * 7919 % (2**63 - 25)
    return torch.Generator().manual_seed(seed)


def initialise(model: nn.Module, source: torch.Generator, gain: float = 1.0) -> nn.Module:
    """Draw every parameter anew from ``source``: matrices by fan-in, vectors small."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                fan_in = parameter[0].numel()
                parameter.copy_(torch.randn(parameter.shape, generator=source) * gain / fan_in**0.5)
            else:
                parameter.copy_(torch.randn(parameter.shape, generator=source) * 0.05)
    return model.train()


class Classification(Workload):
    """One whose targets are classes."""

    def criterion(self) -> Callable[..., Tensor]:
        """Cross-entropy."""
        return nn.CrossEntropyLoss()

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """Cross-entropy of each row. (n, outputs) -> (n,)"""
        return nn.functional.cross_entropy(output, batch.target, reduction="none")
