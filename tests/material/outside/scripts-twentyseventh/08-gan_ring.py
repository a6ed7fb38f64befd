"""GAN on a ring of 8 gaussians. Non-saturating loss, accumulation in both players."""
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 11
ITERS = 300
BATCH = 64
ACCUM = 2
Z_DIM = 8
LR_G, LR_D = 1e-3, 1e-3
CLIP = 10.0
LOG_EVERY = 50
SAVE_EVERY = 100
OUT = "gan_ring"
RESUME = os.environ.get("RESUME", "0") == "1"

torch.manual_seed(SEED)
os.makedirs(OUT, exist_ok=True)


def sample_real(n):
    k = torch.randint(0, 8, (n,))
    angle = k * (2 * math.pi / 8)
    centers = torch.stack([angle.cos(), angle.sin()], dim=1) * 2
    return centers + 0.05 * torch.randn(n, 2)


def mlp(d_in, d_out, hidden=64):
    return nn.Sequential(nn.Linear(d_in, hidden), nn.LeakyReLU(0.2),
                         nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
                         nn.Linear(hidden, d_out))


G = mlp(Z_DIM, 2)
D = mlp(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=LR_G, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=LR_D, betas=(0.5, 0.999))
fixed_z = torch.randn(1000, Z_DIM)
start = 0

ckpt_path = os.path.join(OUT, "last.pt")
if RESUME and os.path.exists(ckpt_path):
    c = torch.load(ckpt_path)
    G.load_state_dict(c["G"])
    D.load_state_dict(c["D"])
    opt_g.load_state_dict(c["opt_g"])
    opt_d.load_state_dict(c["opt_d"])
    start = c["it"]
    print("resumed from iteration", start)


@torch.no_grad()
def coverage():
    """modes with at least 20 close samples, and the share of close samples"""
    x = G(fixed_z)
    angle = torch.arange(8) * (2 * math.pi / 8)
    centers = torch.stack([angle.cos(), angle.sin()], dim=1) * 2
    dist, idx = torch.cdist(x, centers).min(dim=1)
    close = dist < 0.3
    hist = torch.bincount(idx[close], minlength=8)
    return (hist >= 20).sum().item(), close.float().mean().item()


for it in range(start + 1, ITERS + 1):
    # ---- discriminator
    opt_d.zero_grad()
    d_total = 0.0
    for _ in range(ACCUM):
        real = sample_real(BATCH)
        with torch.no_grad():
            fake = G(torch.randn(BATCH, Z_DIM))
        d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
        (d_loss / ACCUM).backward()
        d_total += d_loss.item() / ACCUM
    d_norm = nn.utils.clip_grad_norm_(D.parameters(), CLIP)
    opt_d.step()

    # ---- generator
    opt_g.zero_grad()
    g_total = 0.0
    for _ in range(ACCUM):
        fake = G(torch.randn(BATCH, Z_DIM))
        g_loss = F.softplus(-D(fake)).mean()
        (g_loss / ACCUM).backward()
        g_total += g_loss.item() / ACCUM
    g_norm = nn.utils.clip_grad_norm_(G.parameters(), CLIP)
    opt_g.step()

    if it % LOG_EVERY == 0:
        modes, share = coverage()
        print(f"{it:5d} d_loss {d_total:.3f} (|g| {d_norm:.2f}) g_loss {g_total:.3f} (|g| {g_norm:.2f}) "
              f"modes {modes}/8 close {share:.2f}")
    if it % SAVE_EVERY == 0:
        torch.save({"G": G.state_dict(), "D": D.state_dict(), "opt_g": opt_g.state_dict(),
                    "opt_d": opt_d.state_dict(), "it": it}, ckpt_path)

modes, share = coverage()
print(f"final: {modes} modes, {share:.2%} of the samples close to one")
