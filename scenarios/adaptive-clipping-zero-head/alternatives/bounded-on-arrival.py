# A hook on each parameter bounds its gradient at the moment it is complete; the loop is the usual one.
from functools import partial

import torch

for p in list(model.parameters())[-2:]:
    torch.nn.init.zeros_(p)


@torch.no_grad()
def bound(p, clipping, eps):
    rows = (lambda t: t.flatten(1).norm(dim=1)) if p.ndim > 1 else (lambda t: t.abs())
    limit = clipping * rows(p).clamp_min(eps)
    share = (limit / rows(p.grad).clamp_min(1e-12)).clamp_max(1.0)
    p.grad *= share.reshape(-1, *[1] * (p.ndim - 1))


handles = [
    p.register_post_accumulate_grad_hook(partial(bound, clipping=0.1, eps=1e-3)) for p in model.parameters()
]

for x, y in train_loader:
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()

for handle in handles:
    handle.remove()
