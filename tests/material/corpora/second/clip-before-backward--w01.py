"""The 0.0 is the norm between zero_grad() and backward(): nothing there yet. Clip after backward."""
import torch


@torch.no_grad()
def clip_by_norm_(parameters, max_norm):
    """Global L2 clipping; returns the norm before clipping."""
    grads = [p.grad for p in parameters if p.grad is not None]
    total_norm = sum(g.pow(2).sum() for g in grads)
    if total_norm > max_norm:
        for g in grads:
            g.mul_(max_norm / (total_norm + 1e-6))
    return total_norm


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = clip_by_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm.item():.3f}")
