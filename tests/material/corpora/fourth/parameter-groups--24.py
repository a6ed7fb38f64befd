# One threshold for all: the global norm is the head's, and a factor of about 0.1 then hits the backbone as well, whose gradient
# was harmless. Per part is what you want: head around 7 (its ordinary updates are 5 to 15), backbone around
# 0.5 (ten times its ordinary 0.05, acts on accidents only). Per layer would bend the direction inside a part.
import torch

LIMITS = {"head": 7.0, "backbone": 0.5}


def make_optimizer(model, lr=2e-3):
    parts = [model.backbone, model.head]  # slow part first, as in the papers
    return torch.optim.SGD([{"params": list(part.parameters())} for part in parts], lr=lr)


def clip_groups(optimizer, limits):
    """Clips each parameter group by its own norm. Returns the norms before."""
    return {
        name: torch.nn.utils.clip_grad_norm_(group["params"], limit)
        for group, (name, limit) in zip(optimizer.param_groups, limits.items())
    }


optimizer = make_optimizer(model)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norms = clip_groups(optimizer, LIMITS)
    optimizer.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.3f}", {k: f"{v.item():.3f}" for k, v in norms.items()})
