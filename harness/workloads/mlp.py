"""A small fully connected network with a mean squared error, or with cross-entropy."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from harness.domain.workload import Mlp
from harness.workloads.workload import (
    Workload,
    WorkloadBatch,
    batch_sizes,
    generator,
    initialise,
    random_state_kept,
)

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
}


class MlpWorkload(Workload):
    """Regression onto a random linear map of the inputs plus noise, or the class where it is largest."""

    @property
    def parameters(self) -> Mlp:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, Mlp)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """``depth`` hidden layers, initialised by fan-in times ``init_gain``."""
        p = self.parameters
        layers: list[nn.Module] = []
        width = p.features
        for _ in range(p.depth):
            layers += [nn.Linear(width, p.hidden), ACTIVATIONS[p.activation]()]
            width = p.hidden
        layers.append(nn.Linear(width, p.outputs))
        return initialise(nn.Sequential(*layers), generator(self.spec, 0), p.init_gain)

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """Normal inputs; targets from a fixed random map. One batch is poisoned where the spec asks
        for it.
        """
        p = self.parameters
        truth = (
            torch.randn(p.features, p.outputs, generator=generator(self.spec, 1)) / p.features**0.5
        )
        source = generator(self.spec, 2, rank)
        batches: list[WorkloadBatch] = []
        first = 0
        for size in batch_sizes(p):
            x = torch.randn(size, p.features, generator=source)
            y = (x @ truth + 0.3 * torch.randn(size, p.outputs, generator=source)) * p.target_scale
            y = y.squeeze(1) if p.plain_targets else y
            y = y.argmax(dim=1) if p.classes else y
            batches.append(
                WorkloadBatch(x * p.input_scale, y, None, tuple(range(first, first + size)))
            )
            first += size
        return tuple(batches)

    def criterion(self) -> Callable[..., Tensor]:
        """Mean squared error, or cross-entropy."""
        return nn.CrossEntropyLoss() if self.parameters.classes else nn.MSELoss()

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """Squared error of each sample, averaged over the outputs, or its cross-entropy. (n, outputs) or
        (n,) -> (n,)
        """
        if self.parameters.classes:
            return nn.functional.cross_entropy(output, batch.target, reduction="none")
        errors = (output - batch.target.to(output.dtype)) ** 2
        return errors.flatten(1).mean(dim=1) if errors.dim() > 1 else errors
