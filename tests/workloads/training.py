"""The plain loop, with what it met on the way."""

import math
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from harness.domain.workload import WorkloadSpec
from harness.workloads import Workload, WorkloadBatch, build


@dataclass
class Training:
    """One training and its log."""

    workload: Workload
    model: nn.Module
    before: float
    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    by_part: list[dict[str, float]] = field(default_factory=list)

    @property
    def after(self) -> float:
        return mean_loss(self.workload, self.model)

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def finite(self) -> bool:
        return all(map(math.isfinite, (*self.losses, *self.norms)))


def spec(name: str, seed: int = 0, world_size: int = 1, **parameters) -> WorkloadSpec:
    """A workload with its defaults but for some parameters."""
    entry = {"name": name, "parameters": parameters, "seed": seed, "world_size": world_size}
    return WorkloadSpec.model_validate(entry)


def mean_loss(workload: Workload, model: nn.Module) -> float:
    """The workload's own loss over all real samples of rank 0."""
    with torch.no_grad():
        parts = [
            (workload.sample_losses(model(b.inputs), b)[b.weights > 0], b.weights.sum())
            for b in workload.batches(0)
        ]
    return float(sum(p.sum() for p, _ in parts) / sum(n for _, n in parts))


def loss_of(workload: Workload, model: nn.Module, batch: WorkloadBatch) -> torch.Tensor:
    """What ``criterion`` makes of a batch."""
    extra = () if batch.mask is None else (batch.mask,)
    return workload.criterion()(model(batch.inputs), batch.target, *extra)


def train(
    of: WorkloadSpec, *, max_norm: float = math.inf, window: int = 1, factor: float = 1.0
) -> Training:
    """Accumulate over ``window`` batches, clip, step; for as many passes as the workload says.
    ``factor``: on every gradient.
    """
    workload = build(of)
    model = workload.model()
    optimizer = workload.optimizer(model.parameters())
    log = Training(workload, model, mean_loss(workload, model))
    for _ in range(of.parameters.epochs):
        batches = workload.batches(0)
        for first in range(0, len(batches), window):
            optimizer.zero_grad()
            part = batches[first : first + window]
            for batch in part:
                loss = loss_of(workload, model, batch)
                (factor * loss / len(part)).backward()
                log.losses.append(loss.item())
            log.by_part.append(norms_by_part(model))
            log.norms.append(clip_grad_norm_(model.parameters(), max_norm).item())
            optimizer.step()
    return log


def norms_by_part(model: nn.Module) -> dict[str, float]:
    """Gradient norm of each child of the model, by name, in order."""
    return {
        name: math.hypot(*(p.grad.norm().item() for p in child.parameters()))
        for name, child in model.named_children()
        if any(True for _ in child.parameters())
    }
