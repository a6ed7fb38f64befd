"""Fits a small regression network on made-up sensor readings."""
import torch
import torch.nn as nn

SEED = 3
N = 2048
BATCH = 64
EPOCHS = 20
LR = 3e-3
CLIP = 0.5

torch.manual_seed(SEED)
inputs = torch.rand(N, 6) * 4 - 2
truth = (inputs[:, :1] * inputs[:, 1:2]).sin() + 0.3 * inputs[:, 2:3] ** 2
truth += 0.05 * torch.randn_like(truth)

net = nn.Sequential(nn.Linear(6, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))
opt = torch.optim.AdamW(net.parameters(), lr=LR)
mse = nn.MSELoss()

for epoch in range(EPOCHS):
    order = torch.randperm(N)
    running = 0.0
    opt.zero_grad()
    for start in range(0, N, BATCH):
        rows = order[start : start + BATCH]
        loss = mse(net(inputs[rows]), truth[rows])

        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), CLIP)
        opt.step()
        running += loss.item() * len(rows)
    print(f"epoch {epoch:02d} mse {running / N:.4f}")
