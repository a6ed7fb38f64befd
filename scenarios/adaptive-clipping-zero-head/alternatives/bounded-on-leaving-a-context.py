# A context manager around backward bounds on leaving, row by row, whatever backward has left.
from contextlib import contextmanager

import torch

weight, bias = list(model.parameters())[-2:]
torch.nn.init.zeros_(weight)
torch.nn.init.zeros_(bias)


@contextmanager
def adaptive_clipping(module, clipping=0.1, eps=1e-3):
    yield
    for p in module.parameters():
        rows, own = p.grad.view(len(p), -1), p.data.view(len(p), -1)
        limit = clipping * own.norm(dim=1, keepdim=True).clamp(min=eps)
        rows.mul_((limit / rows.norm(dim=1, keepdim=True).clamp(min=1e-9)).clamp(max=1.0))


for x, y in train_loader:
    optimizer.zero_grad(set_to_none=False)
    with adaptive_clipping(model):
        criterion(model(x), y).backward()
    optimizer.step()
