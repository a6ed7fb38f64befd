# Orthogonal weights with the gain of ReLU; the head keeps a small one.
import torch
import torch.nn as nn

linears = [m for m in model.modules() if isinstance(m, nn.Linear)]
for layer in linears:
    nn.init.orthogonal_(layer.weight, gain=nn.init.calculate_gain("relu"))
    nn.init.constant_(layer.bias, 0.0)
nn.init.orthogonal_(linears[-1].weight, gain=0.5)


def fit(model, loader, epochs):
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()


fit(model, train_loader, num_epochs)
