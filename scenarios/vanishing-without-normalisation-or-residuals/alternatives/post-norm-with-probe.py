# Normalised after the sum, with a table of norms by block at the first update.
import torch
from torch import nn


class PostNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.inner(x))


model = nn.Sequential(nn.Linear(16, 24), *(PostNorm(24) for _ in range(12)), nn.Linear(24, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
step = 0
for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        if step == 0:
            for name, p in model.named_parameters():
                if p.ndim == 2:
                    print(f"{name:<20}{p.grad.norm().item():.2e}")
        optimizer.step()
        step += 1
