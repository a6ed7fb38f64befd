"""WGAN-GP on a ring of 2-D gaussians."""
import argparse
import json
import math
import os

import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self, z_dim=8, hidden=64):
        super().__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(
            nn.Linear(z_dim, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2),
        )

    def sample(self, n, device):
        return self.net(torch.randn(n, self.z_dim, device=device))


class Critic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


class RingData:
    """Endless stream of points from `modes` gaussians on a circle."""

    def __init__(self, modes=8, radius=2.0, std=0.05, device="cpu"):
        angles = torch.arange(modes) * (2 * math.pi / modes)
        self.centers = radius * torch.stack([angles.cos(), angles.sin()], 1).to(device)
        self.std = std
        self.device = device

    def sample(self, n):
        idx = torch.randint(0, len(self.centers), (n,), device=self.device)
        return self.centers[idx] + self.std * torch.randn(n, 2, device=self.device)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, device=real.device)
    x = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(x)
    grad = torch.autograd.grad(score.sum(), x, create_graph=True)[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


@torch.no_grad()
def mode_coverage(generator, data, n=500):
    samples = generator.sample(n, data.device)
    d = torch.cdist(samples, data.centers)
    nearest, which = d.min(1)
    close = nearest < 0.5
    return len(which[close].unique()), close.float().mean().item()


def train(args):
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = RingData(device=device)
    G, C = Generator().to(device), Critic().to(device)
    opt_g = torch.optim.Adam(G.parameters(), lr=args.lr, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(C.parameters(), lr=args.lr, betas=(0.0, 0.9))
    sched_g = torch.optim.lr_scheduler.LinearLR(opt_g, 1.0, 0.1, total_iters=args.iters)
    sched_c = torch.optim.lr_scheduler.LinearLR(opt_c, 1.0, 0.1, total_iters=args.iters)
    os.makedirs(args.out, exist_ok=True)
    history = []

    for it in range(1, args.iters + 1):
        # critic
        for _ in range(args.n_critic):
            real = data.sample(args.batch_size)
            with torch.no_grad():
                fake = G.sample(args.batch_size, device)
            opt_c.zero_grad()
            w_dist = C(real).mean() - C(fake).mean()
            gp = gradient_penalty(C, real, fake)
            c_loss = -w_dist + args.gp_weight * gp
            c_loss.backward()
            opt_c.step()

        # generator
        for p in C.parameters():
            p.requires_grad_(False)
        opt_g.zero_grad()
        g_loss = -C(G.sample(args.batch_size, device)).mean()
        g_loss.backward()
        opt_g.step()
        for p in C.parameters():
            p.requires_grad_(True)

        sched_g.step()
        sched_c.step()

        if it % args.log_every == 0:
            modes, quality = mode_coverage(G, data)
            row = {"iter": it, "w_dist": w_dist.item(), "gp": gp.item(), "modes": modes, "quality": quality}
            history.append(row)
            print(" ".join(f"{k}={v:.3f}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()))
            torch.save({"G": G.state_dict(), "C": C.state_dict(), "opt_g": opt_g.state_dict(),
                        "opt_c": opt_c.state_dict(), "iter": it}, os.path.join(args.out, "checkpoint.pt"))

    with open(os.path.join(args.out, "history.json"), "w") as f:
        json.dump(history, f, indent=1)
    return G, C


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=150)
    ap.add_argument("--n-critic", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--gp-weight", type=float, default=0.5)
    ap.add_argument("--log-every", type=int, default=50)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--out", default="runs/wgan")
    train(ap.parse_args())
