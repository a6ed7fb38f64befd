import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoViews(Dataset):
    """Textured patches; every item yields two augmented views."""

    def __init__(self, n=256, size=16, seed=0):
        rng = np.random.default_rng(seed)
        freq = rng.uniform(0.2, 2.0, (n, 2, 1, 1))
        phase = rng.uniform(0, 6.28, (n, 3, 1, 1))
        g = np.mgrid[0:size, 0:size]
        img = np.sin(freq[:, :1] * g[0] + freq[:, 1:] * g[1] + phase)
        self.images = torch.from_numpy(img).float()

    def __len__(self):
        return len(self.images)

    @staticmethod
    def augment(x):
        if torch.rand(1) < 0.5:
            x = x.flip(-1)
        shift = torch.randint(-3, 4, (2,)).tolist()
        x = torch.roll(x, shift, dims=(-2, -1))
        return x * (0.7 + 0.6 * torch.rand(3, 1, 1)) + 0.1 * torch.randn_like(x)

    def __getitem__(self, i):
        return self.augment(self.images[i]), self.augment(self.images[i])


def nt_xent(z1, z2, temperature):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(float("-inf"))
    n = z1.size(0)
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, targets)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True, help="folder for checkpoints")
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--temperature", type=float, default=0.5)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    loader = DataLoader(TwoViews(), batch_size=args.batch_size, shuffle=True, drop_last=True)
    encoder = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(device)
    projector = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16)).to(device)

    params = list(encoder.parameters())
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9, weight_decay=1e-4)
    total_steps = args.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total_steps)

    for epoch in range(args.epochs):
        losses = []
        for v1, v2 in loader:
            z1 = projector(encoder(v1.to(device)))
            z2 = projector(encoder(v2.to(device)))
            loss = nt_xent(z1, z2, args.temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        print(f"epoch {epoch} nt-xent {np.mean(losses):.4f} lr {scheduler.get_last_lr()[0]:.4f}")
        torch.save({"encoder": encoder.state_dict(), "projector": projector.state_dict(), "epoch": epoch},
                   os.path.join(args.out, "last.pt"))


if __name__ == "__main__":
    main()
