"""A pretrained backbone with small gradients and a new head with large ones."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from harness.domain.workload import TwoPart
from harness.workloads.workload import (
    Workload,
    WorkloadBatch,
    batch_sizes,
    cut,
    generator,
    initialise,
    random_state_kept,
)

POSTED_WIDTH = 2048
"""Features of the backbone that the message names."""


class TwoPartWorkload(Workload):
    """Regression onto a random map of the inputs."""

    @property
    def parameters(self) -> TwoPart:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, TwoPart)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """``backbone`` and ``head``."""
        p = self.parameters
        return TwoPartNet(self.backbone(p.hidden), self._head(p.hidden))

    @random_state_kept()
    def backbone(self, width: int) -> nn.Sequential:
        """Two layers whose features are nearly the same for every input: 1 plus a small part.

        The head multiplies the 1, so its gradient is large; the backbone moves the small part only.
        """
        p = self.parameters
        model = nn.Sequential(
            nn.Linear(p.features, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            AlikeFeatures(p.head_gain),
        )
        initialise(model, generator(self.spec, 0))
        return model

    def _head(self, width: int) -> nn.Linear:
        head = nn.Linear(width, self.parameters.outputs)
        initialise(head, generator(self.spec, 3), 0.2)
        return head

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """Normal inputs; targets from a fixed random map, far from where the head begins."""
        p = self.parameters
        truth = (
            torch.randn(p.features, p.outputs, generator=generator(self.spec, 1)) / p.features**0.5
        )
        source = generator(self.spec, 2, rank)
        sizes = batch_sizes(p)
        x = torch.randn(sum(sizes), p.features, generator=source)
        noise = torch.randn(len(x), p.outputs, generator=source)
        y = (torch.tanh(x @ truth) + 1.0 + 0.1 * noise) * p.target_scale
        return cut(x * p.input_scale, y, sizes)

    def criterion(self) -> Callable[..., Tensor]:
        """Mean squared error."""
        return nn.MSELoss()

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """Squared error of each sample, averaged over the outputs. (n, outputs) -> (n,)"""
        return ((output - batch.target.to(output.dtype)) ** 2).mean(dim=1)

    def extra_names(self) -> Mapping[str, object]:
        """``pretrained_resnet()`` and ``num_classes``, for answers that build the model."""
        return {
            "pretrained_resnet": lambda *_, **__: self.backbone(POSTED_WIDTH),
            "num_classes": self.parameters.outputs,
        }


class TwoPartNet(nn.Module):
    """A head on a backbone."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        """Both take and give rows."""
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """(n, features) -> (n, outputs)."""
        output: Tensor = self.head(self.backbone(x))
        return output


class AlikeFeatures(nn.Module):
    """Features that vary little around 1, as pooled ones of a pretrained network may."""

    def __init__(self, divisor: float) -> None:
        """``divisor`` says how little."""
        super().__init__()
        self.divisor = divisor

    def forward(self, x: Tensor) -> Tensor:
        """(n, width) -> (n, width)."""
        return 1.0 + x / self.divisor
