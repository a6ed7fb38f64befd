"""WGAN-GP for tabular rows read from a CSV of numeric columns."""
import argparse
import csv
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def mlp(sizes, act):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def read_csv(path):
    if not os.path.exists(path):
        g = torch.Generator().manual_seed(0)
        k = torch.randint(0, 3, (3000,), generator=g)
        means = torch.tensor([[2.0, 0, 1, -1], [-2.0, 1, 0, 1], [0.0, -2, -1, 0]])
        return means[k] + 0.3 * torch.randn(3000, 4, generator=g)
    with open(path, newline="") as f:
        rows = list(csv.reader(f))[1:]
    return torch.tensor([[float(v) for v in r] for r in rows])


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, device=real.device)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    (grad,) = torch.autograd.grad(score.sum(), mix, retain_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


class TabularGAN:
    def __init__(self, dim, args, device):
        self.args, self.device = args, device
        self.G = mlp([args.z, 128, 128, dim], nn.ReLU).to(device)
        self.D = mlp([dim, 128, 128, 1], nn.SiLU).to(device)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=args.lr, betas=(0.5, 0.9))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=args.lr, betas=(0.5, 0.9))

    def noise(self, n):
        return torch.randn(n, self.args.z, device=self.device)

    def critic_step(self, real):
        with torch.no_grad():
            fake = self.G(self.noise(len(real)))
        gp = gradient_penalty(self.D, real, fake)
        wasserstein = self.D(real).mean() - self.D(fake).mean()
        loss = -wasserstein + self.args.gp_weight * gp
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return wasserstein.item(), gp.item()

    def generator_step(self, n):
        for p in self.D.parameters():
            p.requires_grad_(False)
        loss = -self.D(self.G(self.noise(n))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        for p in self.D.parameters():
            p.requires_grad_(True)
        return loss.item()

    def fit(self, loader):
        step = 0
        for epoch in range(self.args.epochs):
            for (real,) in loader:
                w, gp = self.critic_step(real.to(self.device))
                step += 1
                if step % self.args.n_critic == 0:
                    self.generator_step(len(real))
            print(f"epoch {epoch} W {w:.4f} gp {gp:.4f}")

    @torch.no_grad()
    def sample(self, n):
        return self.G(self.noise(n)).cpu()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--csv", default="table.csv")
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--z", type=int, default=16)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--gp-weight", type=float, default=10.0)
    p.add_argument("--n-critic", type=int, default=5)
    args = p.parse_args()
    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = read_csv(args.csv)
    mean, std = data.mean(0), data.std(0)
    loader = DataLoader(TensorDataset((data - mean) / std), args.batch, shuffle=True, drop_last=True)
    gan = TabularGAN(data.size(1), args, device)
    gan.fit(loader)
    out = gan.sample(1000) * std + mean
    print("real mean", mean.tolist(), "fake mean", out.mean(0).tolist())
    torch.save({"G": gan.G.state_dict(), "mean": mean, "std": std}, "tabular_gan.pt")


if __name__ == "__main__":
    main()
