import math
import random

import torch
from torch import autograd, nn, optim

torch.manual_seed(1)
random.seed(1)

DIM = 48
LAMBDA = 1.0
CRITIC_ITERS = 5
ITERS = 60
BATCH = 128


def gaussians(n):
    k = torch.randint(8, (n,))
    ang = k * (2 * math.pi / 8)
    return torch.stack([ang.cos(), ang.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


def net(i, o):
    return nn.Sequential(nn.Linear(i, DIM), nn.ReLU(True), nn.Linear(DIM, DIM), nn.ReLU(True), nn.Linear(DIM, o))


netG, netD = net(2, 2), net(2, 1)
optD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
optG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))


def calc_gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    out = critic(inter)
    grads = autograd.grad(out, inter, grad_outputs=torch.ones_like(out), create_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


for it in range(1, ITERS + 1):
    for p in netD.parameters():
        p.requires_grad_(True)
    for _ in range(CRITIC_ITERS):
        real = gaussians(BATCH)
        with torch.no_grad():
            fake = netG(torch.randn(BATCH, 2))
        d_real, d_fake = netD(real).mean(), netD(fake).mean()
        gp = calc_gradient_penalty(netD, real, fake)
        d_cost = d_fake - d_real + gp
        optD.zero_grad()
        d_cost.backward()
        optD.step()

    # no gradients for the critic while the generator is updated
    for p in netD.parameters():
        p.requires_grad_(False)
    g_cost = -netD(netG(torch.randn(BATCH, 2))).mean()
    optG.zero_grad()
    g_cost.backward()
    optG.step()

    if it % 20 == 0:
        print(f"iter {it}: W {(d_real - d_fake).item():.3f} gp {gp.item():.4f} g {g_cost.item():.3f}")
