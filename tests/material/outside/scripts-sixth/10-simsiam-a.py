"""SimSiam pre-training (Chen & He, 2021): symmetric negative cosine similarity with stop-gradient
on the target branch, then a quick nearest-neighbour probe."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.Conv2d(64, dim, 3, 2, 1), nn.BatchNorm2d(dim), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )

    def forward(self, x):
        return self.conv(x)


class SimSiam(nn.Module):
    def __init__(self, dim=128, proj=128, hidden=32):
        super().__init__()
        self.encoder = Encoder(dim)
        self.projector = nn.Sequential(
            nn.Linear(dim, proj, bias=False), nn.BatchNorm1d(proj), nn.ReLU(),
            nn.Linear(proj, proj, bias=False), nn.BatchNorm1d(proj, affine=False),
        )
        self.predictor = nn.Sequential(
            nn.Linear(proj, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, proj)
        )

    def forward(self, x1, x2):
        z1, z2 = self.projector(self.encoder(x1)), self.projector(self.encoder(x2))
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def similarity_loss(p, z):
    return -F.cosine_similarity(p, z, dim=-1).mean()


def augment(x):
    b = x.size(0)
    flip = torch.rand(b, device=x.device) < 0.5
    x = torch.where(flip[:, None, None, None], x.flip(-1), x)
    gain = 0.6 + 0.8 * torch.rand(b, 3, 1, 1, device=x.device)
    dy, dx = torch.randint(-4, 5, (2,)).tolist()
    x = torch.roll(x * gain, (dy, dx), dims=(2, 3))
    return x + 0.05 * torch.randn_like(x)


def synthetic_textures(n=1024, classes=8, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    t = torch.linspace(0, 2 * math.pi, size)
    grid = t[:, None] * torch.cos(y.float() * math.pi / classes)[:, None, None]
    grid = grid + t[None, :] * torch.sin(y.float() * math.pi / classes)[:, None, None]
    phase = 2 * math.pi * torch.rand(n, 1, 1, generator=g)
    img = torch.sin(3 * grid + phase)[:, None].expand(-1, 3, -1, -1)
    return img + 0.2 * torch.randn(n, 3, size, size, generator=g), y


@torch.no_grad()
def knn_accuracy(model, x, y, k_train):
    model.eval()
    f = F.normalize(model.encoder(x), dim=1)
    model.train()
    nearest = (f[k_train:] @ f[:k_train].t()).argmax(1)
    return (y[:k_train][nearest] == y[k_train:]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--images", help=".pt file with (x, y)")
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.05)
    args = ap.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y = torch.load(args.images) if args.images else synthetic_textures()
    x, y = x.to(device), y.to(device)
    model = SimSiam().to(device)
    base = args.lr * args.batch / 256
    opt = torch.optim.SGD(
        [
            {"params": [*model.encoder.parameters(), *model.projector.parameters()], "fix_lr": False},
            {"params": list(model.predictor.parameters()), "fix_lr": True},
        ],
        lr=base, momentum=0.9, weight_decay=1e-4,
    )
    model.train()
    for epoch in range(args.epochs):
        lr = 0.5 * base * (1 + math.cos(math.pi * epoch / args.epochs))
        for g in opt.param_groups:
            g["lr"] = base if g["fix_lr"] else lr
        order = torch.randperm(len(x), device=device)
        total, n = 0.0, 0
        for s in range(0, len(x) - args.batch + 1, args.batch):
            xb = x[order[s : s + args.batch]]
            p1, p2, z1, z2 = model(augment(xb), augment(xb))
            loss = 0.5 * (similarity_loss(p1, z2) + similarity_loss(p2, z1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, n = total + loss.item(), n + 1
        spread = F.normalize(z1, dim=1).std(0).mean().item()
        print(f"epoch {epoch} loss {total / n:.4f} std {spread:.4f} knn {knn_accuracy(model, x, y, len(x) // 2):.3f}")
    torch.save(model.encoder.state_dict(), "simsiam_encoder.pt")


if __name__ == "__main__":
    main()
