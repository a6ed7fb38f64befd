import torch

head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)


def unit_norms(tensor):
    """L2 norm of each unit. (out, ...) -> (out, 1, ...); a vector or scalar is one unit: -> ()"""
    axes = tuple(range(1, tensor.ndim)) or None
    return torch.linalg.vector_norm(tensor, dim=axes, keepdim=axes is not None)


@torch.no_grad()
def adaptive_clip_(parameters, factor=0.01, floor=1e-3):
    """Shrink each unit's gradient to at most ``factor * max(norm of its weights, floor)``."""
    for parameter in parameters:
        if parameter.grad is None:
            continue
        allowed = factor * unit_norms(parameter).clamp(min=floor)
        norms = unit_norms(parameter.grad)
        scale = torch.where(norms > allowed, allowed / norms, torch.ones_like(norms))
        parameter.grad.mul_(scale)


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    adaptive_clip_(model.parameters(), factor=0.1)
    optimizer.step()
