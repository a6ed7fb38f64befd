"""Vanilla GAN on a ring of 8 Gaussians. Generator is updated before the discriminator."""
import math

import torch
import torch.nn as nn

SEED = 3
STEPS = 400
BATCH = 128
Z_DIM = 8
LR_G = 1e-3
LR_D = 1e-3
LOG_EVERY = 100


def ring(n, modes=8, radius=2.0, std=0.08):
    k = torch.randint(0, modes, (n,))
    ang = 2 * math.pi * k / modes
    centers = torch.stack([ang.cos(), ang.sin()], 1) * radius
    return centers + std * torch.randn(n, 2)


def mlp(inp, out, hidden=64):
    return nn.Sequential(
        nn.Linear(inp, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, out),
    )


class GAN:
    def __init__(self, device):
        self.device = device
        self.gen = mlp(Z_DIM, 2).to(device)
        self.disc = mlp(2, 1).to(device)
        self.opt_g = torch.optim.Adam(self.gen.parameters(), lr=LR_G, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.disc.parameters(), lr=LR_D, betas=(0.5, 0.99))
        self.bce = nn.BCEWithLogitsLoss()

    def noise(self, n):
        return torch.randn(n, Z_DIM, device=self.device)

    def step(self, real):
        n = real.size(0)
        ones = torch.ones(n, 1, device=self.device)
        zeros = torch.zeros(n, 1, device=self.device)

        self.opt_g.zero_grad()
        fake = self.gen(self.noise(n))
        loss_g = self.bce(self.disc(fake), ones)
        loss_g.backward()
        self.opt_g.step()

        self.opt_d.zero_grad()
        loss_d = self.bce(self.disc(real), ones) + self.bce(self.disc(fake.detach()), zeros)
        loss_d.backward()
        self.opt_d.step()
        return loss_d.item(), loss_g.item()

    @torch.no_grad()
    def coverage(self, n=2000):
        x = self.gen(self.noise(n)).cpu()
        r = x.norm(dim=1)
        ang = torch.atan2(x[:, 1], x[:, 0]) % (2 * math.pi)
        near = ((r - 2).abs() < 0.5)
        mode = torch.round(ang / (2 * math.pi / 8)).long() % 8
        hist = torch.bincount(mode[near], minlength=8)
        return (hist > n * 0.02).sum().item(), near.float().mean().item()


def main():
    torch.manual_seed(SEED)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gan = GAN(device)
    for it in range(1, STEPS + 1):
        loss_d, loss_g = gan.step(ring(BATCH).to(device))
        if it % LOG_EVERY == 0:
            modes, on_ring = gan.coverage()
            print(f"{it:5d} D {loss_d:.3f} G {loss_g:.3f} modes {modes}/8 on-ring {on_ring:.2f}")


if __name__ == "__main__":
    main()
