"""Learning rate and threshold live side by side in optimizer.param_groups, so they can't drift apart."""
import torch

optimizer = torch.optim.SGD(
    [
        {"name": "backbone", "params": list(model.backbone.parameters()), "lr": 1e-3, "max_norm": 1.0},
        {"name": "head", "params": list(model.head.parameters()), "lr": 2e-3, "max_norm": 5.0},
    ]
)


@torch.no_grad()
def clip_groups_(opt):
    """Clip every param group by its own norm and its own limit; returns norms before clipping."""
    before = {}
    for group in opt.param_groups:
        grads = [p.grad for p in group["params"] if p.grad is not None]
        norm = torch.cat([g.flatten() for g in grads]).norm()
        coefficient = (group["max_norm"] / (norm + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(coefficient)
        before[group["name"]] = norm.item()
    return before


def train_epoch():
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norms = clip_groups_(optimizer)
        optimizer.step()
        yield loss.item(), norms


for step, (value, norms) in enumerate(train_epoch()):
    print(step, f"{value:.4f}", {k: f"{v:.3g}" for k, v in norms.items()})
