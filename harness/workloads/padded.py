"""Batches in which only some samples are real."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from harness.domain.workload import Padded
from harness.workloads.workload import (
    Workload,
    WorkloadBatch,
    cut,
    generator,
    initialise,
    random_state_kept,
)

IGNORED = -100
"""Label of padding: the one that cross-entropy leaves out by default."""


class PaddedWorkload(Workload):
    """Classification; real rows come first in each batch, padding is drawn like them."""

    @property
    def parameters(self) -> Padded:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, Padded)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """One hidden layer."""
        p = self.parameters
        model = nn.Sequential(
            nn.Linear(p.features, p.hidden), nn.Tanh(), nn.Linear(p.hidden, p.outputs)
        )
        return initialise(model, generator(self.spec, 0))

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """``real_counts`` real rows, then padding, in batches of one size."""
        p = self.parameters
        directions = torch.randn(p.features, p.outputs, generator=generator(self.spec, 1))
        source = generator(self.spec, 2, rank)
        counts = [
            min(p.real_counts[i % len(p.real_counts)], p.batch_size) for i in range(p.batches)
        ]
        position = torch.arange(p.batch_size)
        mask = torch.cat([(position < count).float() for count in counts])
        x = torch.randn(len(mask), p.features, generator=source)
        scores = x @ directions * p.target_scale
        y = (scores + 0.3 * torch.randn(scores.shape, generator=source)).argmax(dim=1)
        y[mask == 0] = IGNORED
        return cut(x * p.input_scale, y, [p.batch_size] * p.batches, mask)

    def criterion(self) -> Callable[..., Tensor]:
        """Cross-entropy over real samples."""
        return MaskedCrossEntropy()

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """Cross-entropy of each sample, 0 for padding. (n, outputs) -> (n,)"""
        return nn.functional.cross_entropy(
            output, batch.target, reduction="none", ignore_index=IGNORED
        )


class MaskedCrossEntropy(nn.Module):
    """Cross-entropy averaged over the samples that a mask, or their label, calls real."""

    def forward(
        self, output: Tensor, target: Tensor, mask: Tensor | None = None, reduction: str = "mean"
    ) -> Tensor:
        """(n, outputs), (n,), (n,) -> (), or (n,) with ``reduction="none"``."""
        losses = nn.functional.cross_entropy(output, target, reduction="none", ignore_index=IGNORED)
        real = (target != IGNORED).to(losses.dtype) if mask is None else mask.to(losses.dtype)
        losses = losses * real
        if reduction == "none":
            return losses
        return losses.sum() if reduction == "sum" else losses.sum() / real.sum()
