# WGAN-GP on a 2-D mixture. Converted from a notebook.
# %%
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn, autograd

data_file = Path(__file__).parent / "data" / "modes2d.csv"
n_iter = int(sys.argv[1]) if len(sys.argv) > 1 else 90
n_critic = 5
lam = 1.0
zdim = 8
torch.set_num_threads(1)
bs = 64

# %%
points = torch.tensor(np.loadtxt(data_file, delimiter=",", skiprows=1), dtype=torch.float32)
print("data", tuple(points.shape), "std", points.std(0).tolist())


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2),
                         nn.Linear(h, h), nn.LeakyReLU(0.2),
                         nn.Linear(h, o))


G = mlp(zdim, 64, 2)
D = mlp(2, 64, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))


# %%
def real_batch(n):
    return points[torch.randint(len(points), (n,))]


def gradient_penalty(D, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = D(mix)
    grad, = autograd.grad(
        outputs=score,
        inputs=mix,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
    )
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def critic_step():
    real = real_batch(bs)
    with torch.no_grad():
        fake = G(torch.randn(bs, zdim))
    opt_d.zero_grad()
    wdist = D(real).mean() - D(fake).mean()
    gp = gradient_penalty(D, real, fake)
    loss = -wdist + lam * gp
    loss.backward()
    opt_d.step()
    return wdist.item(), gp.item()


def generator_step():
    opt_g.zero_grad()
    for p in D.parameters():
        p.requires_grad_(False)
    loss = -D(G(torch.randn(bs, zdim))).mean()
    loss.backward()
    opt_g.step()
    for p in D.parameters():
        p.requires_grad_(True)
    return loss.item()


# %%
def coverage(n=500):
    """share of the five modes that receive samples"""
    ang = 2 * np.pi * np.arange(5) / 5
    centers = torch.tensor(np.stack([2 * np.cos(ang), 2 * np.sin(ang)], 1), dtype=torch.float32)
    with torch.no_grad():
        d = torch.cdist(G(torch.randn(n, zdim)), centers)
    near = d.min(1)
    hit = near.indices[near.values < 0.6]
    return len(hit.unique()) / 5, len(hit) / n


# %%
for it in range(n_iter):
    for _ in range(n_critic):
        w, gp = critic_step()
    g_loss = generator_step()
    if (it + 1) % 30 == 0:
        modes, quality = coverage()
        print(f"[{it + 1:4d}] W {w:8.3f}  gp {gp:8.3f}  g {g_loss:8.3f}  modes {modes:.1f}  near a mode {quality:.2f}")
