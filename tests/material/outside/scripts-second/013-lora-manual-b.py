"""Adapt a frozen 'pretrained' classifier to a new task with hand-made LoRA."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRA(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.empty(r, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up) * self.scaling


def add_lora(model, r=4):
    for p in model.parameters():
        p.requires_grad = False
    for name, mod in list(model.named_modules()):
        if isinstance(mod, nn.Linear) and name != "4":
            setattr(model, name, LoRA(mod, r))
    return model


def task(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    return x, ((x[:, 0] * x[:, 1 + seed]) > 0).long()


def pretrain(model):
    x, y = task(256, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
pretrain(net)
params = list(net.parameters())
optimizer = torch.optim.AdamW(params, lr=5e-3)
net = add_lora(net)
print("trainable", sum(p.numel() for p in params), "of", sum(p.numel() for p in net.parameters()))
x, y = task(256, 2)
for epoch in range(10):
    for i in range(0, 256, 64):
        loss = F.cross_entropy(net(x[i:i + 64]), y[i:i + 64])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
