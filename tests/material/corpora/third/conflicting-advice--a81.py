"""Clip or not? Both of you ... all three of you are right somewhere.

* Transformers spike, so norm clipping at 1.0 is a sound start for BERT.
* It is a hack where it replaces tuning the learning rate; it is insurance where that is tuned already.
* It hurts where the threshold lies under everyday norms. 0.01 would: each update gets the same tiny length.

Rule: measure norms before clipping. Rarely above 1.0: fine. Never: optional (probably your CNN). Mostly: raise it.
Run train(..., max_norm=None) once for comparison and believe the validation set.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch


@dataclass
class NormLog:
    threshold: float
    values: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        self.values.append(value)

    def summary(self) -> str:
        ordered = sorted(self.values)
        if not ordered:
            return "no updates"
        above = sum(v > self.threshold for v in ordered)
        return (f"{len(ordered)} updates, median norm {ordered[len(ordered) // 2]:.3g}, "
                f"largest {ordered[-1]:.3g}, {above} above {self.threshold}")


def train(model, loader, criterion, optimizer, max_norm: float | None = 1.0) -> NormLog:
    log = NormLog(math.inf if max_norm is None else max_norm)
    params = [p for p in model.parameters() if p.requires_grad]
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), labels)
        loss.backward()
        # max_norm=inf measures and leaves the gradients alone
        total = torch.nn.utils.clip_grad_norm_(params, log.threshold)
        optimizer.step()
        log.add(total.item())
    return log


print(train(model, train_loader, criterion, optimizer, max_norm=1.0).summary())
