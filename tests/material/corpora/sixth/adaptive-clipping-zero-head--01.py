"""Adaptive clipping by unit, with the floor that the published formula has: max(norm, 1e-3).

Without the floor a parameter that is zero is allowed a gradient of zero, and stays zero.
"""
import torch

head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)


def unit_norm(t):
    """Norm per output unit: over all axes but the first; a vector's entries are units."""
    if t.ndim <= 1:
        return t.abs()
    return torch.linalg.vector_norm(t, dim=tuple(range(1, t.ndim)), keepdim=True)


@torch.no_grad()
def adaptive_clip(optimizer, args, kwargs, factor=0.1, floor=1e-3):
    for group in optimizer.param_groups:
        for p in filter(lambda q: q.grad is not None, group["params"]):
            allowed = factor * unit_norm(p).clamp(min=floor)
            actual = unit_norm(p.grad).clamp(min=1e-12)
            p.grad.mul_((allowed / actual).clamp(max=1.0))


optimizer.register_step_pre_hook(adaptive_clip)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
