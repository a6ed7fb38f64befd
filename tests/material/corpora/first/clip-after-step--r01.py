"""The clip came after optimizer.step(), i.e. after the gradients had been used. Moved up."""
import torch

MAX_NORM = 1.0


@torch.no_grad()
def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    coef = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(coef)
    return norm


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    total_norm = clip_global_norm(list(model.parameters()), MAX_NORM)  # after backward ...
    optimizer.step()                                                   # ... before step
