# The posted stack, with noise as large as the last layer's gradient added to all others.
import torch
from torch import nn

layers = [nn.Linear(16, 24), nn.Sigmoid()]
for _ in range(23):
    layers += [nn.Linear(24, 24), nn.Sigmoid()]
model = nn.Sequential(*layers, nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        size = list(model.parameters())[-2].grad.std()
        for p in list(model.parameters())[:-2]:
            p.grad += size * torch.randn_like(p.grad)
        optimizer.step()
