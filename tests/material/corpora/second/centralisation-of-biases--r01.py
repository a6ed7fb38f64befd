"""Centralisation belongs to matrices and kernels. For a vector, mean over "all axes but the first"
means mean over no axes, which torch reads as all of them: a one-element bias gets gradient 0."""
import torch


@torch.no_grad()
def centralise_hook(optimizer, args, kwargs):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is None or p.grad.dim() < 2:
                continue  # biases, norm scales: leave alone
            dims = list(range(1, p.grad.dim()))
            p.grad.add_(-p.grad.mean(dim=dims, keepdim=True))


handle = optimizer.register_step_pre_hook(centralise_hook)
try:
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
finally:
    handle.remove()
