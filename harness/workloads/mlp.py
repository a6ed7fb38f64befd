"""A small fully connected network with a mean squared error."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from harness.domain.workload import Mlp
from harness.workloads.workload import (
    Batch,
    Workload,
    batch_sizes,
    generator,
    initialise,
    poison,
    random_state_kept,
)

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
}


class MlpWorkload(Workload):
    """Regression onto a random linear map of the inputs plus noise."""

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

    def batches(self, rank: int) -> tuple[Batch, ...]:
        """Normal inputs; targets from a fixed random map. One batch is poisoned where the spec asks
        for it.
        """
        p = self.parameters
        truth = (
            torch.randn(p.features, p.outputs, generator=generator(self.spec, 1)) / p.features**0.5
        )
        source = generator(self.spec, 2, rank)
        batches: list[Batch] = []
        first = 0
        for size in batch_sizes(p):
            x = torch.randn(size, p.features, generator=source)
            y = (x @ truth + 0.3 * torch.randn(size, p.outputs, generator=source)) * p.target_scale
            batches.append(Batch(x * p.input_scale, y, None, tuple(range(first, first + size))))
            first += size
        self._calm(batches)
        for number, batch in enumerate(batches if p.ladder else ()):
            self._bring_to(p.ladder[number // p.rung % len(p.ladder)], batch)
        return poison(tuple(batches), p, rank)

    def _calm(self, batches: list[Batch]) -> None:
        p = self.parameters
        if p.calm_at is not None:
            with torch.no_grad():
                for batch in batches[p.calm_at : p.calm_at + 1]:
                    said = self.model()(batch.inputs)
                    batch.target.copy_(said + p.calm * (batch.target - said))

    def _bring_to(self, norm: float, batch: Batch) -> None:
        """Move the targets so far that the untrained network's gradient has this norm."""
        model = self.model()
        with torch.enable_grad():
            said = model(batch.inputs)
            loss = self.sample_losses(said, batch).mean()
            parts = torch.autograd.grad(loss, list(model.parameters()))
        whole = torch.cat([part.flatten() for part in parts]).norm()
        batch.target.copy_(said.detach() + (norm / whole) * (batch.target - said.detach()))

    def criterion(self) -> Callable[..., Tensor]:
        """Mean squared error times ``loss_scale``."""
        scale = self.parameters.loss_scale
        return nn.MSELoss() if scale == 1.0 else ScaledMse(scale)

    def sample_losses(self, output: Tensor, batch: Batch) -> Tensor:
        """Squared error of each sample, averaged over the outputs. (n, outputs) -> (n,)"""
        errors = (output - batch.target.to(output.dtype)) ** 2
        return errors.mean(dim=1) * self.parameters.loss_scale


class ScaledMse(nn.Module):
    """A mean squared error in other units: what is learned is the same, gradients are not."""

    def __init__(self, scale: float) -> None:
        """``scale`` multiplies the loss."""
        super().__init__()
        self.scale = scale

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        """Scalar loss."""
        return nn.functional.mse_loss(output, target) * self.scale
