"""Deep MLP with activation checkpointing."""
import argparse

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Res(nn.Module):
    def __init__(self, d, p=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Dropout(p), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.net(x)


class Deep(nn.Module):
    def __init__(self, d_in, d, depth, ckpt):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList(Res(d) for _ in range(depth))
        self.out = nn.Linear(d, 1)
        self.ckpt = ckpt

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            if self.ckpt and self.training:
                x = checkpoint(b, x, use_reentrant=False)
            else:
                x = b(x)
        return self.out(x)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--no-ckpt", action="store_true")
    p.add_argument("--steps", type=int, default=25)
    a = p.parse_args()
    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x.pow(2).sum(1, keepdim=True)
    m = Deep(5, 16, 6, not a.no_ckpt)
    opt = torch.optim.SGD(m.parameters(), lr=1e-2)
    for step in range(a.steps):
        loss = nn.functional.smooth_l1_loss(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 6 == 0:
            print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
