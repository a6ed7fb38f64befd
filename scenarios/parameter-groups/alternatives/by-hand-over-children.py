# named_children, a dictionary of limits, and arithmetic by hand.
import torch

limits = {"backbone": 0.1, "head": 7.0}


@torch.no_grad()
def clip_by_child(module):
    seen = {}
    for name, child in module.named_children():
        grads = [p.grad for p in child.parameters() if p.grad is not None]
        norm = torch.linalg.vector_norm(torch.cat([g.flatten() for g in grads]))
        scale = (limits[name] / (norm + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(scale)
        seen[name] = norm.item()
    return seen


for x, y in train_loader:
    model.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    norms = clip_by_child(model)
    optimizer.step()
print(norms)
