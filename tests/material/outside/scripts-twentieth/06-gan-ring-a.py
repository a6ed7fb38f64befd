import argparse
import math

import torch
from torch import nn


def sample_ring(n, modes=8, radius=2.0, std=0.05):
    k = torch.randint(0, modes, (n,))
    ang = 2 * math.pi * k / modes
    centers = torch.stack([ang.cos(), ang.sin()], dim=1) * radius
    return centers + std * torch.randn(n, 2)


def mlp(n_in, n_out, width=64):
    return nn.Sequential(
        nn.Linear(n_in, width), nn.LeakyReLU(0.2),
        nn.Linear(width, width), nn.LeakyReLU(0.2),
        nn.Linear(width, n_out),
    )


def train(args):
    netG, netD = mlp(args.nz, 2), mlp(2, 1)
    optG = torch.optim.Adam(netG.parameters(), lr=args.lr, betas=(0.5, 0.999))
    optD = torch.optim.Adam(netD.parameters(), lr=args.lr, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(args.bs, 1), torch.zeros(args.bs, 1)

    for it in range(1, args.iters + 1):
        # discriminator
        real = sample_ring(args.bs)
        fake = netG(torch.randn(args.bs, args.nz))
        optD.zero_grad()
        lossD = bce(netD(real), ones) + bce(netD(fake.detach()), zeros)
        lossD.backward()
        optD.step()

        # generator
        optG.zero_grad()
        lossG = bce(netD(fake), ones)
        lossG.backward()
        optG.step()

        if it % args.log_every == 0:
            hq, covered = evaluate(netG, args.nz)
            print(f"{it:5d} lossD {lossD.item():.3f} lossG {lossG.item():.3f} "
                  f"good {hq:.2f} modes {covered}")
    return netG


@torch.no_grad()
def evaluate(netG, nz, n=1000, modes=8, radius=2.0):
    x = netG(torch.randn(n, nz))
    ang = 2 * math.pi * torch.arange(modes) / modes
    centers = torch.stack([ang.cos(), ang.sin()], dim=1) * radius
    dist, which = torch.cdist(x, centers).min(dim=1)
    good = dist < 0.3
    return good.float().mean().item(), which[good].unique().numel()


def parse():
    p = argparse.ArgumentParser(description="GAN on a ring of Gaussians")
    p.add_argument("--iters", type=int, default=2000)
    p.add_argument("--bs", type=int, default=128)
    p.add_argument("--nz", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--log_every", type=int, default=500)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


if __name__ == "__main__":
    args = parse()
    torch.manual_seed(args.seed)
    train(args)
