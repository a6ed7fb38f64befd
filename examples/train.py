import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(256, 20)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for step, x in enumerate(data.split(8)):
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) / 4
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
