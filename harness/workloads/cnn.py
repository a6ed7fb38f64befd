"""A small convolutional classifier that trains stably."""

import torch
from torch import Tensor, nn

from harness.domain.workload import Cnn
from harness.workloads.workload import (
    Classification,
    WorkloadBatch,
    batch_sizes,
    cut,
    generator,
    initialise,
    random_state_kept,
)


class CnnWorkload(Classification):
    """Noisy images of one pattern for each class."""

    @property
    def parameters(self) -> Cnn:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, Cnn)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """Two convolutions, the mean over each quarter of the image, a head."""
        p = self.parameters
        model = ConvNet(p.channels, p.outputs, p.colours, batch_norm=p.batch_norm)
        return initialise(model, generator(self.spec, 0))

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """A pattern plus noise. Inputs: (n, colours, side, side)"""
        p = self.parameters
        patterns = torch.randn(
            p.outputs, p.colours, p.side, p.side, generator=generator(self.spec, 1)
        )
        source = generator(self.spec, 2, rank)
        sizes = batch_sizes(p)
        y = torch.arange(sum(sizes)) % p.outputs  # classes in balance: less noise in the gradient
        noise = torch.randn(len(y), p.colours, p.side, p.side, generator=source)
        x = (patterns[y] * p.target_scale + 0.5 * noise) * p.input_scale
        return cut(x, y, sizes)


class SteadyNorm(nn.BatchNorm2d):
    """Batch norm as programs look for it, which takes the statistics that it began with in either mode:
    what it computes can be computed anew, whichever mode a program had put it in.
    """

    def forward(self, x: Tensor) -> Tensor:
        """(n, channels, height, width), the same."""
        return nn.functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


SteadyNorm.__name__ = "BatchNorm2d"


class ConvNet(nn.Module):
    """Two convolutions and a head."""

    def __init__(
        self, channels: int, outputs: int, colours: int = 1, *, batch_norm: bool = False
    ) -> None:
        """``channels`` of either convolution; ``colours``: of an image."""
        super().__init__()
        self.conv1 = nn.Conv2d(colours, channels, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, kernel_size=3, padding=1)
        norm = SteadyNorm if batch_norm else nn.Identity
        self.norm1, self.norm2 = norm(channels), norm(channels)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.head = nn.Linear(4 * channels, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(n, colours, side, side) -> (n, outputs)."""
        x = nn.functional.silu(self.norm1(self.conv1(x)))
        x = nn.functional.silu(self.norm2(self.conv2(x)))
        output: Tensor = self.head(self.pool(x).flatten(1))
        return output
