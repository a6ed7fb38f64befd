"""WGAN with gradient penalty (Gulrajani et al. 2017) on 2-d toy densities.

The critic is kept near 1-Lipschitz by lambda * (||grad_x D(x_hat)|| - 1)^2 at random points
between real and generated samples. n_critic critic updates per generator update.
"""
import argparse
import math

import torch
import torch.nn as nn
from torch import autograd


def sample_real(kind: str, n: int) -> torch.Tensor:
    if kind == "8gaussians":
        k = torch.randint(8, (n,))
        ang = k.float() * math.pi / 4
        centres = torch.stack([ang.cos(), ang.sin()], 1) * 2.0
        return (centres + 0.02 * torch.randn(n, 2)) / 1.414
    if kind == "swissroll":
        t = 1.5 * math.pi * (1 + 2 * torch.rand(n))
        return (torch.stack([t * t.cos(), t * t.sin()], 1) + 0.25 * torch.randn(n, 2)) / 7.5
    raise ValueError(kind)


class MLP(nn.Module):
    def __init__(self, n_in: int, n_out: int, dim: int):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, dim), nn.ReLU(),
            nn.Linear(dim, dim), nn.ReLU(),
            nn.Linear(dim, dim), nn.ReLU(),
            nn.Linear(dim, n_out),
        )

    def forward(self, x):
        return self.net(x)


class WGANGP:
    def __init__(self, args):
        self.args = args
        self.G = MLP(2, 2, args.dim)
        self.D = MLP(2, 1, args.dim)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=args.lr, betas=(0.5, 0.9))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=args.lr, betas=(0.5, 0.9))

    def gradient_penalty(self, real, fake):
        eps = torch.rand(real.size(0), 1)
        x_hat = (eps * real + (1 - eps) * fake).requires_grad_(True)
        d_hat = self.D(x_hat)
        grads = autograd.grad(outputs=d_hat, inputs=x_hat, grad_outputs=torch.ones_like(d_hat),
                              retain_graph=True)[0]
        return self.args.gp_lambda * ((grads.norm(2, dim=1) - 1) ** 2).mean()

    def critic_step(self):
        real = sample_real(self.args.data, self.args.batch_size)
        with torch.no_grad():
            fake = self.G(torch.randn(self.args.batch_size, 2))
        w_dist = self.D(real).mean() - self.D(fake).mean()
        gp = self.gradient_penalty(real, fake)
        loss = -w_dist + gp
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return w_dist.item(), gp.item()

    def generator_step(self):
        for p in self.D.parameters():
            p.requires_grad_(False)
        loss = -self.D(self.G(torch.randn(self.args.batch_size, 2))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        for p in self.D.parameters():
            p.requires_grad_(True)
        return loss.item()

    def fit(self):
        for it in range(self.args.iters):
            for _ in range(self.args.n_critic):
                w, gp = self.critic_step()
            g = self.generator_step()
            if it % self.args.log_every == 0:
                print(f"{it:6d} W {w:.4f} gp {gp:.4f} G {g:.4f}")
        torch.save({"G": self.G.state_dict(), "D": self.D.state_dict()}, self.args.out)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--data", choices=["8gaussians", "swissroll"], default="8gaussians")
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--batch_size", type=int, default=256)
    p.add_argument("--iters", type=int, default=10000)
    p.add_argument("--n_critic", type=int, default=5)
    p.add_argument("--gp_lambda", type=float, default=0.1)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--log_every", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default="wgan_gp.pt")
    a = p.parse_args()
    torch.manual_seed(a.seed)
    WGANGP(a).fit()
