# The given model with SELU for ReLU, exchanged in place, and the initialisation that SELU wants.
import torch
from torch import nn

for name, child in list(model.named_children()):
    if isinstance(child, nn.ReLU):
        setattr(model, name, nn.SELU())
for module in model.modules():
    if isinstance(module, nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="linear")
        nn.init.zeros_(module.bias)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
