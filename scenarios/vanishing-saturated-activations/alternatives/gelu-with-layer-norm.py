# Normalised before each activation; the default initialisation is then good enough.
import torch
from torch import nn


def block(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out), nn.LayerNorm(n_out), nn.GELU())


model = nn.Sequential(block(16, 24), *(block(24, 24) for _ in range(23)), nn.Linear(24, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

for epoch in range(num_epochs):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=True)
        criterion(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
