"""Toy GAN on a ring of gaussians."""
import math

import torch
from torch import nn, optim

torch.manual_seed(42)
nz, hidden, bs, iters = 4, 32, 64, 60


def ring(n):
    k = torch.randint(0, 8, (n,)).float() * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


netG = nn.Sequential(nn.Linear(nz, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))
netD = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, 1))
criterion = nn.BCEWithLogitsLoss()
optD = optim.SGD(netD.parameters(), lr=0.05)
optG = optim.SGD(netG.parameters(), lr=0.05)
real_label, fake_label = 1.0, 0.0

for i in range(iters):
    # (1) update D: maximise log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    real = ring(bs)
    label = torch.full((bs, 1), real_label)
    errD_real = criterion(netD(real), label)
    errD_real.backward()

    noise = torch.randn(bs, nz)
    fake = netG(noise)
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optD.step()

    # (2) update G: maximise log(D(G(z)))
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake), label)
    errG.backward()
    optG.step()

    if i % 20 == 0:
        print(f"[{i}/{iters}] D {errD_real.item() + errD_fake.item():.4f} G {errG.item():.4f}")
print("fake radius", netG(torch.randn(256, nz)).norm(dim=1).mean().item())
