"""Accumulation without .grad as a store: gradients are values, so nothing can be cleared too early."""
import torch
from torch.func import functional_call, grad

accumulation_steps = 4


def loss_fn(params, x, y):
    return criterion(functional_call(model, params, (x,)), y)


gradient = grad(loss_fn)
named = dict(model.named_parameters())
total = {name: torch.zeros_like(p) for name, p in named.items()}

for i, (x, y) in enumerate(train_loader, start=1):
    params = {name: p.detach() for name, p in named.items()}
    for name, g in gradient(params, x, y).items():
        total[name] += g / accumulation_steps

    if i % accumulation_steps == 0:
        for name, p in named.items():
            p.grad = total[name].clone()
            total[name].zero_()
        optimizer.step()
