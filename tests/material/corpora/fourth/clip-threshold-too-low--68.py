"""Smooth because it hardly moves: with norms of 0.3 and a threshold of 0.01 every update is cut to a thirtieth, so the
threshold has become the step size. A larger learning rate would undo that with one hand and keep it with the other.
Put the threshold above ordinary norms, 1.0 here, so that it meets outliers only, and leave the rate.
"""
import torch

max_norm = 1.0


@torch.no_grad()
def clip_(parameters, max_norm, eps=1e-6):
    """Global-norm clip. Returns the norm before."""
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    factor = max_norm / norm.clamp(min=eps)
    for g in grads:
        g.mul_(factor)
    return norm


clipped = 0
for n, (x, y) in enumerate(train_loader, start=1):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = clip_(model.parameters(), max_norm)
    optimizer.step()
    clipped += int(norm > max_norm)
    print(f"norm {norm:.2f} -> {min(norm.item(), max_norm):.2f}   clipped so far {clipped}/{n}")
