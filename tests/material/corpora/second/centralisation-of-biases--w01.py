"""Gradient centralisation for weights only; biases (1-d) keep their gradient."""
import torch


@torch.no_grad()
def centralise_(parameters):
    for p in parameters:
        if p.grad is None or p.grad.ndim < 2:
            continue
        p.grad.sub_(p.grad.mean(dim=0, keepdim=True))


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    centralise_(model.parameters())
    optimizer.step()
