import torch
from torch import nn

MAX_NORM = 1.0
layers = [m for m in model.modules() if isinstance(m, nn.Linear)]


@torch.no_grad()
def clip_layer(layer):
    grads = [p.grad for p in layer.parameters(recurse=False) if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([g.reshape(-1) for g in grads]))
    if norm > MAX_NORM:
        for g in grads:
            g.mul_(MAX_NORM / norm)
    return norm.item()


for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norms = [clip_layer(layer) for layer in layers]
        optimizer.step()
