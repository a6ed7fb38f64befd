"""A very deep residual classifier without normalisation, whose gradients explode."""

import torch
from torch import Tensor, nn

from harness.domain.workload import DeepResidual
from harness.workloads.workload import (
    Classification,
    WorkloadBatch,
    batch_sizes,
    cut,
    generator,
    initialise,
    random_state_kept,
)


class DeepResidualWorkload(Classification):
    """Classification of points by the largest of a few random directions."""

    @property
    def parameters(self) -> DeepResidual:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, DeepResidual)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """``stem``, ``depth`` ``blocks`` and a ``head``; ``branch_gain`` sizes the blocks."""
        p = self.parameters
        model = DeepResidualNet(p.features, p.hidden, p.depth, p.outputs)
        source = generator(self.spec, 0)
        initialise(model, source)
        initialise(model.blocks, source, p.branch_gain)
        return model

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """Normal inputs; the class of each is the direction it points to most, with some noise."""
        p = self.parameters
        directions = torch.randn(p.features, p.outputs, generator=generator(self.spec, 1))
        source = generator(self.spec, 2, rank)
        sizes = batch_sizes(p)
        x = torch.randn(sum(sizes), p.features, generator=source)
        scores = x @ directions * p.target_scale
        y = (scores + 0.3 * torch.randn(scores.shape, generator=source)).argmax(dim=1)
        return cut(x * p.input_scale, y, sizes)


class DeepResidualNet(nn.Module):
    """A stem, a stack of residual blocks on one stream, a head."""

    def __init__(self, features: int, hidden: int, depth: int, outputs: int) -> None:
        """Nothing is normalised on the way."""
        super().__init__()
        self.stem = nn.Linear(features, hidden)
        self.blocks = nn.Sequential(*(ResidualBlock(hidden) for _ in range(depth)))
        self.head = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(n, features) -> (n, outputs)."""
        output: Tensor = self.head(self.blocks(self.stem(x)))
        return output


class ResidualBlock(nn.Module):
    """``x + relu(W x + b)``."""

    def __init__(self, hidden: int) -> None:
        """``hidden`` is the width of the stream."""
        super().__init__()
        self.branch = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """(n, hidden) -> (n, hidden)."""
        return x + torch.relu(self.branch(x))
