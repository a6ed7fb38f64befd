"""WGAN-GP sur des tables mixtes (colonnes numeriques) : generateur de donnees synthetiques."""
import argparse
import json

import numpy as np
import pandas as pd
import torch
from torch import autograd, nn


def mlp(sizes, norm=False):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            if norm:
                layers.append(nn.BatchNorm1d(b))
            layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


class TableGAN:
    def __init__(self, n_cols, z_dim=32, hidden=128, lr=2e-4, n_critic=5, lam=10.0, device="cpu"):
        self.device, self.z_dim, self.n_critic, self.lam = device, z_dim, n_critic, lam
        self.G = mlp([z_dim, hidden, hidden, n_cols], norm=True).to(device)
        self.C = mlp([n_cols, hidden, hidden, 1]).to(device)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=lr, betas=(0.0, 0.9))
        self.opt_c = torch.optim.Adam(self.C.parameters(), lr=lr, betas=(0.0, 0.9))

    def noise(self, n):
        return torch.randn(n, self.z_dim, device=self.device)

    def penalty(self, real, fake):
        eps = torch.rand(real.size(0), 1, device=self.device)
        mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
        score = self.C(mix)
        grad = autograd.grad(score, mix, grad_outputs=torch.ones_like(score),
                             create_graph=False, retain_graph=True)[0]
        return ((grad.norm(2, dim=1) - 1) ** 2).mean()

    def critic_step(self, real):
        with torch.no_grad():
            fake = self.G(self.noise(real.size(0)))
        w = self.C(real).mean() - self.C(fake).mean()
        gp = self.penalty(real, fake)
        loss = -w + self.lam * gp
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return w.item(), gp.item()

    def generator_step(self, n):
        loss = -self.C(self.G(self.noise(n))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    def fit(self, X, steps, batch, log_every=200):
        g = torch.Generator().manual_seed(1)
        hist = []
        self.G.train()
        for s in range(1, steps + 1):
            for _ in range(self.n_critic):
                idx = torch.randint(len(X), (batch,), generator=g)
                w, gp = self.critic_step(X[idx].to(self.device))
            lg = self.generator_step(batch)
            if s % log_every == 0:
                d = self.marginal_gap(X)
                hist.append({"step": s, "w": w, "gp": gp, "g": lg, "gap": d})
                print(f"{s:6d} W={w:+.3f} gp={gp:.4f} G={lg:+.3f} gap={d:.3f}")
        return hist

    @torch.no_grad()
    def sample(self, n):
        self.G.eval()
        out = self.G(self.noise(n)).cpu()
        self.G.train()
        return out

    def marginal_gap(self, X, n=1000):
        a = self.sample(n).sort(0).values
        idx = torch.linspace(0, len(X) - 1, n).long()
        b = X.sort(0).values[idx]
        return (a - b).abs().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("csv")
    p.add_argument("--steps", type=int, default=10000)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--n-critic", type=int, default=5)
    p.add_argument("--lam", type=float, default=10.0)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--out", default="synthetic.csv")
    p.add_argument("--rows", type=int, default=5000)
    p.add_argument("--log-every", type=int, default=200)
    args = p.parse_args()

    torch.manual_seed(0)
    df = pd.read_csv(args.csv).select_dtypes("number").dropna()
    mu, sd = df.mean(), df.std() + 1e-9
    X = torch.from_numpy(((df - mu) / sd).to_numpy(np.float32))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    gan = TableGAN(X.shape[1], lr=args.lr, n_critic=args.n_critic, lam=args.lam, device=device)
    hist = gan.fit(X, args.steps, args.batch, args.log_every)

    fake = gan.sample(args.rows).numpy() * sd.to_numpy() + mu.to_numpy()
    pd.DataFrame(fake, columns=df.columns).to_csv(args.out, index=False)
    torch.save({"G": gan.G.state_dict(), "C": gan.C.state_dict()}, args.out + ".pt")
    with open(args.out + ".json", "w") as f:
        json.dump(hist, f)


if __name__ == "__main__":
    main()
