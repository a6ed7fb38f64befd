#!/usr/bin/env python
# plain non-saturating GAN on the ring of eight gaussians
from pathlib import Path

import torch
import torch.nn.functional as F

from ringlib import load_ring, mlp, modes_hit

Z = 8
BS = 64
STEPS = 600

torch.set_num_threads(1)
torch.manual_seed(5)
real_all = load_ring(Path(__file__).parent / "data" / "ring.npz")
G = mlp(Z, 2)
D = mlp(2, 1)
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))


def bce(logits, value):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, value))


for step in range(1, STEPS + 1):
    real = real_all[torch.randint(len(real_all), (BS,))]

    # --- discriminator
    d_opt.zero_grad()
    with torch.no_grad():
        fake = G(torch.randn(BS, Z))
    d_loss = bce(D(real), 0.9) + bce(D(fake), 0.0)
    d_loss.backward()
    d_opt.step()

    # --- generator
    g_opt.zero_grad()
    g_loss = bce(D(G(torch.randn(BS, Z))), 1.0)
    g_loss.backward()
    g_opt.step()

    if step % 100 == 0:
        with torch.no_grad():
            m, frac = modes_hit(G(torch.randn(1000, Z)))
        print(f"{step:5d}  d {d_loss.item():.3f}  g {g_loss.item():.3f}  modes {m}/8  good {frac:.2f}")
