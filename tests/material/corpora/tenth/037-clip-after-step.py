"""Gradient in, clipped gradient out, then the update, all in plain sight."""
import torch
from torch.utils import _pytree as pytree

MAX_NORM = 1.0
params = dict(model.named_parameters())


def clip(tree, limit):
    leaves, _ = pytree.tree_flatten(tree)
    norm = torch.stack([leaf.square().sum() for leaf in leaves]).sum().sqrt()
    scale = limit / norm.clamp(min=limit)  # exactly 1 while the norm is below the limit
    tree = pytree.tree_map(lambda leaf: leaf * scale, tree)
    return norm


for x, y in train_loader:
    loss = criterion(model(x), y)
    grads = dict(zip(params, torch.autograd.grad(loss, list(params.values()))))
    norm = clip(grads, MAX_NORM)  # before the step: from here on it is bounded
    for name, p in params.items():
        p.grad = grads[name]
    optimizer.step()
    optimizer.zero_grad()
