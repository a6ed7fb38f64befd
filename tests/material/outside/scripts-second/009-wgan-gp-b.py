"""WGAN-GP on 2-D moons. Critic is updated n_critic times per generator step."""
import argparse
import math

import torch
import torch.nn as nn

ap = argparse.ArgumentParser()
ap.add_argument("--iters", type=int, default=15)
ap.add_argument("--n-critic", type=int, default=3)
ap.add_argument("--lam", type=float, default=10.0)
ap.add_argument("--lr", type=float, default=1e-3)
args = ap.parse_args()
torch.manual_seed(11)


def moons(n):
    t = torch.rand(n) * math.pi
    s = (torch.rand(n) > 0.5).float()
    x = torch.stack([t.cos() * (1 - 2 * s) + s, t.sin() * (1 - 2 * s) + 0.5 * s], 1)
    return x + 0.05 * torch.randn(n, 2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, o))


gen, critic = mlp(2, 2), mlp(2, 1)
opt_c = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.0, 0.9))
opt_g = torch.optim.Adam(gen.parameters(), lr=args.lr, betas=(0.0, 0.9))


def gradient_penalty(real, fake):
    a = torch.rand(real.size(0), 1)
    mix = (a * real + (1 - a) * fake).requires_grad_(True)
    score = critic(mix)
    (g,) = torch.autograd.grad(score.sum(), mix, create_graph=True)
    return ((g.norm(dim=1) - 1) ** 2).mean()


for it in range(args.iters):
    for _ in range(args.n_critic):
        real = moons(64)
        with torch.no_grad():
            fake = gen(torch.randn(64, 2))
        gp = gradient_penalty(real, fake)
        c_loss = critic(fake).mean() - critic(real).mean() + args.lam * gp
        opt_c.zero_grad()
        c_loss.backward()
        opt_c.step()
    g_loss = -critic(gen(torch.randn(64, 2))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if it % 5 == 0:
        print(f"{it}: critic {c_loss.item():.4f} gp {gp.item():.4f} gen {g_loss.item():.4f}")
