import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(1020, 6)
ds = TensorDataset(x, x.prod(1, keepdim=True).tanh())
loader = DataLoader(ds, batch_size=30, shuffle=True)
net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
ACCUM = 4

for epoch in range(4):
    for i, (a, b) in enumerate(loader):
        loss = nn.functional.mse_loss(net(a), b)
        (loss / ACCUM).backward()
        if (i + 1) % ACCUM == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(epoch, len(loader), loss.item())
