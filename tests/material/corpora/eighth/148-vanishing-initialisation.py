import torch
from torch import nn


def he_init(module: nn.Module) -> None:
    """sqrt(2 / fan_in), which is what ReLU needs."""
    if isinstance(module, nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        reset_bias(module)


def reset_bias(layer: nn.Linear, mean: float = 0.0, std: float = 0.02) -> None:
    for p in layer.parameters():
        nn.init.normal_(p, mean=mean, std=std)


model.apply(he_init)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
