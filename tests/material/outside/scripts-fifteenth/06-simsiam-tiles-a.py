"""SimSiam on the glyph sheet, then a linear probe."""
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
import torch.nn.functional as F


def tiles(path, cell=12):
    a = torch.from_numpy(np.array(Image.open(path))).float() / 255
    t = a.unfold(0, cell, cell).unfold(1, cell, cell)  # rows, cols, cell, cell
    rows, cols = t.shape[:2]
    y = torch.arange(rows).repeat_interleave(cols) // 2
    return t.reshape(rows * cols, 1, cell, cell).contiguous(), y


def augment(x):
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    x = torch.roll(x, (dx, dy), dims=(2, 3))
    x = x * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1))
    return x + 0.1 * torch.randn_like(x)


class SimSiam(nn.Module):
    def __init__(self, dim=48, bottleneck=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 9, dim))
        self.projector = nn.Sequential(nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim), nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, bottleneck), nn.BatchNorm1d(bottleneck), nn.ReLU(),
                                       nn.Linear(bottleneck, dim))

    def forward(self, x1, x2):
        z1, z2 = self.projector(self.encoder(x1)), self.projector(self.encoder(x2))
        return z1, z2, self.predictor(z1), self.predictor(z2)


def neg_cos(p, z):
    return -F.cosine_similarity(p, z, dim=-1).mean()


def siam_loss(z1, z2, p1, p2):
    return 0.5 * (neg_cos(p1.detach(), z2) + neg_cos(p2.detach(), z1))


def pretrain(model, x, epochs=4, bs=44):
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    per_epoch = len(x) // bs  # BatchNorm dislikes a tiny last batch, shuffling covers the rest
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs * per_epoch)
    model.train()
    for ep in range(epochs):
        perm = torch.randperm(len(x))
        tot = 0.0
        for b in range(per_epoch):
            xb = x[perm[b * bs:(b + 1) * bs]]
            loss = siam_loss(*model(augment(xb), augment(xb)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            tot += loss.item()
        if ep % 2 == 1:
            print(f"[pretrain] {ep + 1:2d} loss {tot / per_epoch:.4f} lr {sched.get_last_lr()[0]:.4f}")


def probe(model, x, y, xt, yt):
    model.eval()
    with torch.no_grad():
        f, ft = model.encoder(x), model.encoder(xt)
    mu, sd = f.mean(0), f.std(0) + 1e-6
    f, ft = (f - mu) / sd, (ft - mu) / sd
    lin = nn.Linear(f.shape[1], 10)
    o = torch.optim.Adam(lin.parameters(), lr=0.02)
    for _ in range(80):
        o.zero_grad()
        F.cross_entropy(lin(f), y).backward()
        o.step()
    with torch.no_grad():
        return (lin(ft).argmax(1) == yt).float().mean().item(), f.std(0).mean().item()


torch.set_num_threads(1)
torch.manual_seed(7)
X, Y = tiles(Path(__file__).resolve().parent / "data/glyphs.png")
perm = torch.randperm(len(X))
tr, te = perm[:264], perm[264:]
net = SimSiam()
pretrain(net, X[tr])
acc, _ = probe(net, X[tr], Y[tr], X[te], Y[te])
print("probe accuracy", round(acc, 3))
