"""A regression whose custom loss takes the logarithm and the inverse of the prediction."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from harness.domain.workload import PositiveLoss
from harness.workloads.workload import (
    Workload,
    WorkloadBatch,
    batch_sizes,
    cut,
    generator,
    initialise,
    random_state_kept,
)

COVERED = 4
"""So many batches after the poisoned one, an input alone is NaN: its loss can be made finite, by
``nan_to_num`` on the output, and its gradient cannot.
"""


class PositiveLossWorkload(Workload):
    """Amounts that grow with an exposure; the loss is defined for positive predictions alone."""

    @property
    def parameters(self) -> PositiveLoss:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, PositiveLoss)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """A positive ``rate`` network, multiplied by the exposure."""
        p = self.parameters
        return initialise(ExposureModel(p.features, p.hidden), generator(self.spec, 0), 0.5)

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """Exposures in column 0; where adverse, one row without any and one that is taken back."""
        p = self.parameters
        truth = torch.randn(p.features - 1, 1, generator=generator(self.spec, 1)) / p.features**0.5
        source = generator(self.spec, 2, rank)
        sizes = batch_sizes(p)
        exposure = 0.5 + torch.rand(sum(sizes), 1, generator=source)
        x = torch.randn(sum(sizes), p.features - 1, generator=source)
        noise = torch.rand(exposure.shape, generator=source)
        y = exposure * torch.exp(0.5 * x @ truth) * (0.5 + 0.4 * noise) * p.target_scale
        batches = cut(torch.cat([exposure, x * p.input_scale], dim=1), y, sizes)
        if p.adverse:
            for batch in batches[p.adverse_from :]:
                batch.inputs[0, 0] = 0.0
                batch.inputs[-1, 0].neg_()
        if p.poison_at is not None:
            for batch in batches[p.poison_at : p.poison_at + 1]:
                batch.target[0] = float("nan")  # no choice of loss can look past it
            for batch in batches[p.poison_at : p.poison_at + COVERED + 1 : COVERED]:
                batch.inputs[0, -1] = float("nan")  # whoever covers it up has NaN in the gradient
        return batches

    def criterion(self) -> Callable[..., Tensor]:
        """The custom loss."""
        return custom_loss

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """The custom loss of each sample. (n, 1) -> (n,)"""
        target = batch.target.to(output.dtype)
        return (torch.log(output / target) + target / output - 1.0).mean(dim=1)

    def extra_names(self) -> Mapping[str, object]:
        """``custom_loss``, as the message calls it."""
        return {"custom_loss": custom_loss}


def custom_loss(output: Tensor, target: Tensor) -> Tensor:
    """Deviance of amounts from their predicted mean, at least 0. (n, 1), (n, 1) -> ()."""
    return (torch.log(output / target) + target / output - 1.0).mean()


class ExposureModel(nn.Module):
    """A positive rate per unit, times the exposure in column 0."""

    def __init__(self, features: int, hidden: int) -> None:
        """``features`` counts the exposure."""
        super().__init__()
        self.rate = nn.Sequential(
            nn.Linear(features - 1, hidden), nn.Tanh(), nn.Linear(hidden, 1), nn.Softplus()
        )

    def forward(self, x: Tensor) -> Tensor:
        """(n, features) -> (n, 1), of the sign of the exposure."""
        output: Tensor = x[:, :1] * self.rate(x[:, 1:])
        return output
