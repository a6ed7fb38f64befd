"""Gradient centralisation for weight matrices only; biases are left alone."""
import torch


@torch.no_grad()
def centralize_(model):
    for name, p in model.named_parameters():
        if p.grad is None or p.grad.ndim < 2:
            continue  # a bias has no axis to centralise over
        p.grad.sub_(p.grad.mean(dim=0, keepdim=True))


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    centralize_(model)
    optimizer.step()
