"""Bound each update; the learning rate stays the one that learns."""

import torch

MAX_NORM = 1.0


@torch.no_grad()
def limit_(parameters, max_norm: float) -> float:
    """Bring the gradient to max_norm; direction kept. Returns the norm before."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    torch._foreach_mul_(gradients, (max_norm / norm).item())
    return norm.item()


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = limit_(model.parameters(), MAX_NORM)
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}, norm {norm:.3f}")
