import torch
from torch.func import functional_call, grad_and_value

ACCUM = 4


def loss_fn(weights, x, y):
    return criterion(functional_call(model, weights, (x,)), y)


differentiate = grad_and_value(loss_fn)
named = dict(model.named_parameters())
batches = list(train_loader)

for start in range(0, len(batches), ACCUM):
    window = batches[start : start + ACCUM]
    mean = {name: torch.zeros_like(p) for name, p in named.items()}
    for x, y in window:
        grads, value = differentiate({n: p.detach() for n, p in named.items()}, x, y)
        for name, g in grads.items():
            mean[name] += g / len(window)  # the only division
    for name, p in named.items():
        p.grad = mean[name]
    optimizer.step()
    optimizer.zero_grad()
