# Norm clipping instead of value clipping, in three fused kernels (no Python loop over parameters).
# All elements are scaled by a common factor, so the update keeps the direction of the gradient.
import torch

MAX_NORM = 1.0


@torch.no_grad()
def clip_grad_norm_fused_(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norms = torch._foreach_norm(grads)
    factors = [(max_norm / (n + 1e-6)).clamp(max=1.0) for n in norms]
    torch._foreach_mul_(grads, factors)
    return torch.stack(norms).max()


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_grad_norm_fused_(model.parameters(), MAX_NORM)
    optimizer.step()
