"""None of them. A smaller rate makes every update smaller to survive a few; that is why it crawls. Go back to the rate at which it
learned (1e-2) and bound the rare huge gradient instead, all parameters by one factor, at a norm that ordinary
updates do not reach. The printed norm is the one before clipping: if it does not jump where the loss jumps, gradients are not
the cause, look at the data then.
"""
import torch

MAX_NORM = 1.0


@torch.no_grad()
def clip_gradients(parameters, max_norm=MAX_NORM):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    if total > max_norm:
        grads = torch._foreach_mul(grads, max_norm / (total.item() + 1e-6))
    return total


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = clip_gradients(model.parameters())
    optimizer.step()
    flag = "  clipped" if norm > MAX_NORM else ""
    print(f"step {step}: loss {loss.item():.4f}, norm {norm.item():.3f}{flag}")
