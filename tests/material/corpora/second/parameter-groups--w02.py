"""Per-group thresholds that keep the direction of the update."""
import torch

groups = [
    {"params": list(model.backbone.parameters()), "lr": 5e-4, "max_norm": 0.5},
    {"params": list(model.head.parameters()), "lr": 2e-3, "max_norm": 1.0},
]
optimizer = torch.optim.SGD([{"params": g["params"], "lr": g["lr"]} for g in groups])


@torch.no_grad()
def clip_groups(groups):
    """Each group has its own max_norm; returns the norms before clipping."""
    norms, coefficients = [], []
    for group in groups:
        grads = [p.grad for p in group["params"] if p.grad is not None]
        norm = torch.stack(torch._foreach_norm(grads)).norm()
        norms.append(norm)
        coefficients.append((group["max_norm"] / (norm + 1e-6)).clamp(max=1.0))

    coefficient = torch.stack(coefficients).min()  # satisfies every group's limit
    for group in groups:
        torch._foreach_mul_([p.grad for p in group["params"] if p.grad is not None], coefficient)
    return norms


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    backbone_norm, head_norm = clip_groups(groups)
    optimizer.step()
    print(f"step {step}: backbone {backbone_norm:.3g} head {head_norm:.3g}")
