"""No optimizer.step() at all: gradient in, clipped gradient out, then the update in plain sight."""
import torch
from torch.utils import _pytree as pytree

MAX_NORM = 1.0
params = dict(model.named_parameters())
lr = optimizer.param_groups[0]["lr"]


def clipped(tree, limit):
    leaves, spec = pytree.tree_flatten(tree)
    norm = torch.stack([leaf.square().sum() for leaf in leaves]).sum().sqrt()
    scale = limit / norm.clamp(min=limit)  # exactly 1 while the norm is below the limit
    return pytree.tree_unflatten([leaf * scale for leaf in leaves], spec), norm


for x, y in train_loader:
    loss = criterion(model(x), y)
    grads = dict(zip(params, torch.autograd.grad(loss, list(params.values()))))
    grads, norm = clipped(grads, MAX_NORM)
    for name, p in params.items():
        p.grad = grads[name]
    optimizer.step()
    optimizer.zero_grad()
