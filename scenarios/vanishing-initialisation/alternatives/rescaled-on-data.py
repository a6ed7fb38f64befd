# Layer-sequential unit variance: each layer is scaled until its output on one batch deviates by 1.
import torch
from torch import nn

x, _ = next(iter(train_loader))
with torch.no_grad():
    h = x
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight)
            nn.init.zeros_(layer.bias)
            layer.weight /= layer(h).std() + 1e-8
        h = layer(h)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
