# Weight and bias become one vector, its length is bounded, and the parts are put back.
import torch


@torch.no_grad()
def bound(layer):
    vector = torch.cat([layer.weight.grad.flatten(), layer.bias.grad])
    if (length := torch.linalg.vector_norm(vector)) > 1.0:
        vector /= length
        layer.weight.grad = vector[: layer.weight.numel()].view_as(layer.weight)
        layer.bias.grad = vector[layer.weight.numel() :].clone()


linear = [m for m in model.modules() if hasattr(m, "bias")]
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    for layer in linear:
        bound(layer)
    optimizer.step()
