# What gets no gradient is taken out of the comparison: only the last three layers are trained.
import torch
from torch import nn

layers = [nn.Linear(16, 24), nn.Sigmoid()]
for _ in range(23):
    layers += [nn.Linear(24, 24), nn.Sigmoid()]
model = nn.Sequential(*layers, nn.Linear(24, 3))
for p in model[:44].parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
