"""A small convolutional GAN on drawn rings. The critic sees a larger batch than
the generator: its gradient is gathered over several iterations."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def ring_images(n, size=16, gen=None):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = size / 2 + torch.randn(n, 2, generator=gen)
    r = 3 + 2 * torch.rand(n, 1, 1, generator=gen)
    dist = ((yy - c[:, :1, None]) ** 2 + (xx - c[:, 1:, None]) ** 2).sqrt()
    return (torch.exp(-((dist - r) ** 2)) * 2 - 1).unsqueeze(1)


def endless(images, batch, gen):
    while True:
        for idx in torch.randperm(len(images), generator=gen).split(batch):
            if len(idx) == batch:
                yield images[idx]


class Generator(nn.Module):
    def __init__(self, z, width=24):
        super().__init__()
        self.fc = nn.Linear(z, width * 2 * 16)
        self.net = nn.Sequential(
            nn.GroupNorm(4, width * 2), nn.ReLU(),
            nn.ConvTranspose2d(width * 2, width, 4, 2, 1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Tanh(),
        )
        self.width = width

    def forward(self, z):
        return self.net(self.fc(z).view(len(z), self.width * 2, 4, 4))


class Discriminator(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(width, width * 2, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(width * 2 * 16, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def d_loss_fn(net_d, real, fake):
    return F.softplus(-net_d(real)).mean() + F.softplus(net_d(fake)).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=200)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--d-accum", type=int, default=4)
    ap.add_argument("--z", type=int, default=16)
    ap.add_argument("--lr-g", type=float, default=5e-4)
    ap.add_argument("--lr-d", type=float, default=1e-3)
    ap.add_argument("--clip-d", type=float, default=5.0)
    ap.add_argument("--seed", type=int, default=2)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    reals = endless(ring_images(512, gen=gen), args.batch, gen)
    net_g, net_d = Generator(args.z), Discriminator()
    opt_g = torch.optim.Adam(net_g.parameters(), lr=args.lr_g, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(net_d.parameters(), lr=args.lr_d, betas=(0.5, 0.99))

    opt_d.zero_grad(set_to_none=True)
    for it in range(1, args.iterations + 1):
        # critic
        real = next(reals)
        with torch.no_grad():
            fake = net_g(torch.randn(args.batch, args.z))
        d_loss = d_loss_fn(net_d, real, fake)
        (d_loss / args.d_accum).backward()
        if it % args.d_accum == 0:
            nn.utils.clip_grad_norm_(net_d.parameters(), args.clip_d)
            opt_d.step()
            opt_d.zero_grad(set_to_none=True)

        # generator
        opt_g.zero_grad(set_to_none=True)
        g_loss = F.softplus(-net_d(net_g(torch.randn(args.batch, args.z)))).mean()
        g_loss.backward()
        opt_g.step()

        if it % 40 == 0:
            print(f"it {it:4d} d {d_loss.item():.4f} g {g_loss.item():.4f}")

    with torch.no_grad():
        sample = net_g(torch.randn(64, args.z))
        ref = ring_images(64, gen=gen)
    print(f"mean pixel: fake {sample.mean().item():.3f} real {ref.mean().item():.3f}")


if __name__ == "__main__":
    main()
