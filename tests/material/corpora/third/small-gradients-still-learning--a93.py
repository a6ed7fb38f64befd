"""Tiny gradient norms, falling loss: nothing to repair.

1e-7 is small or large only in relation to something: the unit of the loss, the size of the weights, the learning rate.
What counts: do all layers get a comparable share, and does the loss fall? This monitor only reads p.grad.

Worry when the loss stands still, or early layers get less than a thousandth of what late ones get.
"""
from __future__ import annotations

import torch


class LayerMonitor:
    def __init__(self, model: torch.nn.Module, starved: float = 1e-3) -> None:
        self.layers = [(n, p) for n, p in model.named_parameters() if p.ndim >= 2]
        self.starved = starved

    @torch.no_grad()
    def read(self) -> dict[str, float]:
        return {n: p.grad.norm().item() for n, p in self.layers if p.grad is not None}

    def verdict(self, norms: dict[str, float]) -> str:
        values = list(norms.values())
        if len(values) < 2 or values[-1] == 0.0:
            return "cannot tell"
        ratio = values[0] / values[-1]
        state = "VANISHING towards the input" if ratio < self.starved else "healthy"
        return f"{state} (first/last = {ratio:.1e})"


monitor = LayerMonitor(model)
first_loss = None

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    first_loss = first_loss if first_loss is not None else loss.item()
    norms = monitor.read()
    print(f"step {step}: loss {loss.item() / first_loss:.3f} of the first, gradients {monitor.verdict(norms)}")
    if step == 0:
        for name, norm in norms.items():
            print(f"   {name:<28} {norm:.3e}")

    optimizer.step()
