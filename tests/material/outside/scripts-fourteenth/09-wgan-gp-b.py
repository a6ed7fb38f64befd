import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(9)
LAMBDA, N_CRITIC, BATCH, ITERS, ZDIM = 10, 4, 128, 120, 4


def mlp(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.Softplus(), nn.Linear(h, h), nn.Softplus(), nn.Linear(h, o))


def sample_real(n):
    centers = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    return centers[torch.randint(0, 4, (n,))] + 0.15 * torch.randn(n, 2)


def calc_gradient_penalty(netD, real, fake):
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    out = netD(mixed)
    grads = autograd.grad(
        outputs=out, inputs=mixed, grad_outputs=torch.ones_like(out),
        create_graph=True, retain_graph=True, only_inputs=True,
    )[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


@torch.no_grad()
def mode_coverage(netG, n=400):
    """share of samples near each of the four modes"""
    centers = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    dist = torch.cdist(netG(torch.randn(n, ZDIM)), centers)
    near, which = dist.min(1)
    return [round(((which == k) & (near < 0.6)).float().mean().item(), 2) for k in range(4)]


netG, netD = mlp(ZDIM, 2), mlp(2, 1)
optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))

for it in range(ITERS):
    for p in netD.parameters():
        p.requires_grad = True
    for _ in range(N_CRITIC):
        real = sample_real(BATCH)
        with torch.no_grad():
            fake = netG(torch.randn(BATCH, ZDIM))
        netD.zero_grad()
        gp = calc_gradient_penalty(netD, real, fake)
        d_cost = netD(fake).mean() - netD(real).mean() + gp
        d_cost.backward()
        optD.step()

    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    g_cost = -netD(netG(torch.randn(BATCH, ZDIM))).mean()
    g_cost.backward()
    optG.step()

    if (it + 1) % 30 == 0:
        print(f"iter {it + 1} W-dist {(gp - d_cost).item():.3f} gp {gp.item():.3f} G {g_cost.item():.3f} modes {mode_coverage(netG)}")
