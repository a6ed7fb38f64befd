"""SimCLR-style contrastive pretraining on synthetic vectors."""
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Args:
    steps: int = 20
    batch: int = 48
    dim: int = 20
    tau: float = 0.2
    lr: float = 0.2
    hidden: list = field(default_factory=lambda: [32, 16])


class Encoder(nn.Module):
    def __init__(self, a: Args):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(a.dim, a.hidden[0]), nn.ReLU())
        self.g = nn.Sequential(nn.Linear(a.hidden[0], a.hidden[0]), nn.ReLU(), nn.Linear(a.hidden[0], a.hidden[1]))

    def forward(self, x):
        return F.normalize(self.g(self.f(x)), dim=-1)


def augment(x):
    return x * (torch.rand_like(x) > 0.2) + 0.1 * torch.randn_like(x)


def nt_xent(z1, z2, tau):
    n = z1.size(0)
    z = torch.cat([z1, z2])
    sim = z @ z.T / tau
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


def main(a=Args()):
    torch.manual_seed(0)
    centers = torch.randn(6, a.dim) * 2
    enc = Encoder(a)
    opt = torch.optim.SGD(enc.parameters(), lr=a.lr, momentum=0.9)
    for step in range(a.steps):
        x = centers[torch.randint(0, 6, (a.batch,))] + 0.5 * torch.randn(a.batch, a.dim)
        loss = nt_xent(enc(augment(x)), enc(augment(x)), a.tau)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
