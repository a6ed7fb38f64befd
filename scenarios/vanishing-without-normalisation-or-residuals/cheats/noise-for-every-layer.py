# The posted blocks. Noise of the head's size is added to whatever gradient arrives.
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x):
        return self.inner(x)


model = nn.Sequential(nn.Linear(16, 24), *(Block(24) for _ in range(12)), nn.Linear(24, 3))
for p in model.parameters():
    p.register_hook(lambda g: g + 0.01 * torch.randn_like(g))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
