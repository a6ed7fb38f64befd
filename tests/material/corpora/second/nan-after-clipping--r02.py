"""Refactored training step: domain-safe loss, NaN triage before backward, clipping unchanged.

Clipping stays at 1.0. It bounds large finite gradients; it cannot bound a NaN. What custom_loss
needs is a positive first argument, so that is what it gets.
"""
import logging
from dataclasses import dataclass

import torch
from torch import nn

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("train")


@dataclass(frozen=True)
class Config:
    max_norm: float = 1.0
    floor: float = 1e-5


class SafeLoss(nn.Module):
    """custom_loss on max(output, floor). NaN outputs stay NaN: they must be seen, not hidden."""

    def __init__(self, inner, floor):
        super().__init__()
        self.inner = inner
        self.register_buffer("floor", torch.tensor(floor))

    def forward(self, output, target):
        return self.inner(torch.maximum(output, self.floor.to(output)), target)


def describe(name, tensor):
    finite = torch.isfinite(tensor)
    return f"{name}: min {tensor.min():.4g} max {tensor.max():.4g} non-finite {(~finite).sum().item()}"


def train_step(batch, target, cfg, loss_fn):
    optimizer.zero_grad()
    output = model(batch)
    loss = loss_fn(output, target)
    if not torch.isfinite(loss):
        log.error("loss is %s before backward; %s; %s; %s", loss.item(),
                  describe("input", batch), describe("output", output), describe("target", target))
        return None

    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
    if not torch.isfinite(norm):
        log.error("gradient norm is %s although the loss is %.4g", norm.item(), loss.item())
        optimizer.zero_grad()
        return None

    optimizer.step()
    return loss.item()


cfg = Config()
loss_fn = SafeLoss(custom_loss, cfg.floor)
skipped = 0
for batch in train_loader:
    value = train_step(batch, target, cfg, loss_fn)
    if value is None:
        skipped += 1
    else:
        print(f"Loss: {value}")
log.info("skipped %d batches", skipped)
