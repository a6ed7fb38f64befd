# GAN on a ring of 8 Gaussians (exported from a notebook)
import math

import torch
import torch.nn as nn

torch.manual_seed(11)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

BATCH = 128
Z_DIM = 8
ITERS = 800
LR_G, LR_D = 1e-3, 1e-3

# ---------------------------------------------------------------- data
angles = torch.arange(8) * (2 * math.pi / 8)
centres = 2.0 * torch.stack([angles.cos(), angles.sin()], 1)


def sample_real(n):
    idx = torch.randint(0, 8, (n,))
    return (centres[idx] + 0.08 * torch.randn(n, 2)).to(device)


# ---------------------------------------------------------------- models
def mlp(n_in, n_out, hidden=64, depth=2, act=nn.ReLU):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(n_in, hidden), act()]
        n_in = hidden
    return nn.Sequential(*layers, nn.Linear(n_in, n_out))


G = mlp(Z_DIM, 2).to(device)
D = mlp(2, 1, act=lambda: nn.LeakyReLU(0.2)).to(device)

opt_g = torch.optim.Adam(G.parameters(), lr=LR_G, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=LR_D, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()

ones = torch.ones(BATCH, 1, device=device)
zeros = torch.zeros(BATCH, 1, device=device)

# ---------------------------------------------------------------- training
history = []
for it in range(ITERS):
    # discriminator
    real = sample_real(BATCH)
    with torch.no_grad():
        fake = G(torch.randn(BATCH, Z_DIM, device=device))
    loss_d = bce(D(real), ones) + bce(D(fake), zeros)
    loss_d.backward()
    opt_d.step()
    opt_d.zero_grad()

    # generator
    fake = G(torch.randn(BATCH, Z_DIM, device=device))
    loss_g = bce(D(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    history.append((loss_d.item(), loss_g.item()))
    if it % 100 == 0:
        print(f"{it:4d}  D {loss_d.item():.3f}  G {loss_g.item():.3f}")

# ---------------------------------------------------------------- how many modes do we hit?
with torch.no_grad():
    pts = G(torch.randn(2000, Z_DIM, device=device)).cpu()
dist = torch.cdist(pts, centres)
near, which = dist.min(1)
good = near < 0.3
modes = which[good].unique().numel()
print(f"modes covered: {modes}/8, high quality samples: {good.float().mean():.2%}")
last = history[-50:]
print(f"last 50 its: D {sum(h[0] for h in last) / 50:.3f}  G {sum(h[1] for h in last) / 50:.3f}")
