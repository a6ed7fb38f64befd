"""WGAN-GP that generates synthetic rows of a numeric table (credit card transactions)."""
import argparse
import os

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch import autograd, optim


class Residual(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.fc = nn.Linear(i, o)
        self.bn = nn.BatchNorm1d(o)

    def forward(self, x):
        return torch.cat([torch.relu(self.bn(self.fc(x))), x], dim=1)


class Generator(nn.Module):
    def __init__(self, z, out, hidden):
        super().__init__()
        self.net = nn.Sequential(Residual(z, hidden), Residual(z + hidden, hidden), nn.Linear(z + 2 * hidden, out))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, device=real.device)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grad, = autograd.grad(score.sum(), mix, retain_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def infinite(data, batch):
    while True:
        for idx in torch.randperm(len(data)).split(batch):
            if len(idx) == batch:
                yield data[idx]


class WGANGP:
    def __init__(self, data, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.G = Generator(args.z, data.size(1), args.hidden).to(self.device)
        self.D = Critic(data.size(1), args.hidden).to(self.device)
        self.opt_g = optim.Adam(self.G.parameters(), lr=args.lr, betas=(0.5, 0.9))
        self.opt_d = optim.Adam(self.D.parameters(), lr=args.lr, betas=(0.5, 0.9))
        self.stream = infinite(data, args.batch)

    def noise(self, n):
        return torch.randn(n, self.args.z, device=self.device)

    def critic_step(self):
        real = next(self.stream).to(self.device)
        with torch.no_grad():
            fake = self.G(self.noise(len(real)))
        w = self.D(real).mean() - self.D(fake).mean()
        gp = gradient_penalty(self.D, real, fake)
        loss = -w + self.args.gp * gp
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return w.item(), gp.item()

    def generator_step(self):
        loss = -self.D(self.G(self.noise(self.args.batch))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    def fit(self):
        for it in range(1, self.args.iters + 1):
            for _ in range(self.args.n_critic):
                w, gp = self.critic_step()
            g = self.generator_step()
            if it % self.args.log_every == 0:
                print(f"{it:6d} wasserstein {w:.4f} gp {gp:.4f} g_loss {g:.4f}")

    @torch.no_grad()
    def sample(self, n):
        self.G.eval()
        out = self.G(self.noise(n)).cpu()
        self.G.train()
        return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--out", default="synthetic.csv")
    ap.add_argument("--z", type=int, default=64)
    ap.add_argument("--hidden", type=int, default=256)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--iters", type=int, default=20000)
    ap.add_argument("--n-critic", type=int, default=5)
    ap.add_argument("--gp", type=float, default=10.0)
    ap.add_argument("--lr", type=float, default=1e-4)
    ap.add_argument("--log-every", type=int, default=200)
    args = ap.parse_args()

    torch.manual_seed(0)
    df = pd.read_csv(args.csv).select_dtypes("number").dropna()
    mu, sd = df.mean(), df.std().replace(0, 1)
    data = torch.tensor(((df - mu) / sd).to_numpy(np.float32))
    print(f"{len(df)} rows, {df.shape[1]} numeric columns")

    gan = WGANGP(data, args)
    gan.fit()
    fake = pd.DataFrame(gan.sample(len(df)).numpy(), columns=df.columns) * sd + mu
    fake.to_csv(args.out, index=False)
    print(pd.DataFrame({"real mean": df.mean(), "fake mean": fake.mean(), "real std": df.std(), "fake std": fake.std()}))
    torch.save({"G": gan.G.state_dict(), "D": gan.D.state_dict()}, os.path.splitext(args.out)[0] + ".pt")


if __name__ == "__main__":
    main()
