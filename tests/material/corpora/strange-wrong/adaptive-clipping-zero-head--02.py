"""Adaptive gradient clipping with a floor for the weight norm."""

import torch

for p in list(model.parameters())[-2:]:
    torch.nn.init.zeros_(p)


def unit_norm(t: torch.Tensor) -> torch.Tensor:
    """Norm of each output unit."""
    return t.norm(dim=tuple(range(1, t.ndim)), keepdim=True) if t.ndim > 1 else t.norm()


@torch.no_grad()
def agc_(parameters, factor: float = 0.1, floor: float = 1e-3) -> None:
    """|g| <= factor * max(|w|, floor), unit by unit."""
    for p in parameters:
        if p.grad is None:
            continue
        allowed = factor * unit_norm(p).clamp(max=floor)
        norm = unit_norm(p.grad).clamp(min=1e-12)
        p.grad.mul_((allowed / norm).clamp(max=1.0))


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    agc_(model.parameters())
    optimizer.step()
