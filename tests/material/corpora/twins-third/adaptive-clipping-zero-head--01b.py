import torch

head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)


def unitwise_norm(t):
    if t.ndim <= 1:
        return t.norm()
    return t.norm(dim=tuple(range(1, t.ndim)), keepdim=True)


class AGC:
    """Adaptive gradient clipping as a step hook of the optimizer."""

    def __init__(self, factor=0.1, eps=1e-3):
        self.factor, self.eps = factor, eps

    @torch.no_grad()
    def __call__(self, opt, args, kwargs):
        for group in opt.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                bound = self.factor * unitwise_norm(p).clamp_min(self.eps if p.ndim == 1 else 0.0)
                norm = unitwise_norm(p.grad)
                clipped = p.grad * (bound / norm.clamp_min(1e-6))
                p.grad.copy_(torch.where(norm > bound, clipped, p.grad))


optimizer.register_step_pre_hook(AGC())
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
