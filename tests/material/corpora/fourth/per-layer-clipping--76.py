"""The checker is right: weight and bias were bounded one by one, each up to 1.0, together up to 1.41. A layer is a module, so
take its parameters in one call. Layers below the bound keep their gradient as it is.
"""
import torch

max_norm = 1.0


def clip_layers_(model, max_norm):
    """Each layer on its own, weight and bias together. Returns the largest norm met."""
    largest = 0.0
    for layer in model.modules():
        params = [p for p in layer.parameters() if p.grad is not None]
        if not params:  # activations and the like
            continue
        norm = torch.nn.utils.clip_grad_norm_(params, max_norm)
        largest = max(largest, norm.item())
    return largest


def check(model, bound):
    for name, layer in model.named_modules():
        own = [p.grad.norm() for p in layer.parameters(recurse=False) if p.grad is not None]
        if own:
            assert torch.stack(own).norm() <= bound * (1 + 1e-4), name


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_layers_(model, max_norm)
    check(model, max_norm)
    optimizer.step()
