import torch, torch.nn as nn, torch.nn.functional as F

def get_batch(bs=16):
    x = torch.randn(bs, 5)
    y = torch.randn(bs, 1)
    return x, y

model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
K = 4
opt.zero_grad()
for step in range(40):
    pass
    x, y = get_batch()
    loss = F.mse_loss(model(x), y) / K
    loss.backward()
    if (step + 1) % K == 0:
        opt.step()
        opt.zero_grad()
