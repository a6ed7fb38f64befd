"""Galaxy morphology classification trained with sharpness-aware minimisation.
galaxies.pt: dict with 'images' uint8 (N,3,H,W), 'labels' int64 (N,)."""
import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Galaxies(Dataset):
    def __init__(self, images, labels, train):
        self.images, self.labels, self.train = images, labels, train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = self.images[i].float() / 127.5 - 1
        if self.train:
            x = torch.rot90(x, int(torch.randint(0, 4, (1,))), (1, 2))
            if torch.rand(1) < 0.5:
                x = x.flip(2)
        return x, self.labels[i]


class SAM:
    """Wraps a base optimizer; call ascend() after the first backward and descend() after the second."""

    def __init__(self, base, rho=0.05):
        self.base, self.rho = base, rho
        self.shift = {}

    def params(self):
        return (p for g in self.base.param_groups for p in g["params"] if p.grad is not None)

    def zero_grad(self):
        self.base.zero_grad(set_to_none=True)

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.params()]).norm()
        scale = self.rho / (norm + 1e-12)
        for p in self.params():
            e = p.grad * scale
            p.add_(e)
            self.shift[p] = e

    @torch.no_grad()
    def descend(self):
        for p, e in self.shift.items():
            p.sub_(e)
        self.shift.clear()
        self.base.step()
        self.zero_grad()


def set_bn_momentum(model, value):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = value


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.f = nn.Sequential(
            nn.BatchNorm2d(cin), nn.ReLU(), nn.Conv2d(cin, cout, 3, stride, 1, bias=False),
            nn.BatchNorm2d(cout), nn.ReLU(), nn.Conv2d(cout, cout, 3, 1, 1, bias=False))
        self.s = nn.Conv2d(cin, cout, 1, stride, bias=False) if stride != 1 or cin != cout else nn.Identity()

    def forward(self, x):
        return self.s(x) + self.f(x)


class GalaxyNet(nn.Module):
    def __init__(self, n_cls, w=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, w, 3, 1, 1, bias=False),
            Residual(w, w, 1), Residual(w, 2 * w, 2), Residual(2 * w, 2 * w, 1), Residual(2 * w, 4 * w, 2),
            Residual(4 * w, 4 * w, 1), nn.BatchNorm2d(4 * w), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(4 * w, n_cls))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def test(model, loader, device):
    model.eval()
    ok = n = 0
    for x, y in loader:
        ok += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        n += len(y)
    return ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="galaxies.pt")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--momentum", type=float, default=0.9)
    ap.add_argument("--wd", type=float, default=5e-4)
    ap.add_argument("--rho", type=float, default=0.05)
    ap.add_argument("--bn-momentum", type=float, default=0.1)
    ap.add_argument("--seed", type=int, default=3)
    ap.add_argument("--out", default="galaxy_sam.pt")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    blob = torch.load(args.data)
    perm = torch.randperm(len(blob["labels"]), generator=torch.Generator().manual_seed(0))
    cut = int(0.85 * len(perm))
    tr, va = perm[:cut], perm[cut:]
    train_dl = DataLoader(Galaxies(blob["images"][tr], blob["labels"][tr], True), args.batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(Galaxies(blob["images"][va], blob["labels"][va], False), args.batch)

    model = GalaxyNet(int(blob["labels"].max()) + 1).to(device)
    sgd = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.wd, nesterov=True)
    sam = SAM(sgd, args.rho)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, args.epochs)

    history, best = [], 0.0
    for epoch in range(args.epochs):
        model.train()
        t0, total = time.time(), 0.0
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            set_bn_momentum(model, args.bn_momentum)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            loss.backward()
            sam.ascend()
            set_bn_momentum(model, 0.0)
            F.cross_entropy(model(x), y, label_smoothing=0.05).backward()
            sam.descend()
            total += loss.item()
        sched.step()
        acc = test(model, val_dl, device)
        history.append({"epoch": epoch, "loss": total / len(train_dl), "acc": acc, "sec": time.time() - t0})
        print(history[-1])
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "acc": acc}, args.out)
    with open(args.out + ".history.json", "w") as f:
        json.dump(history, f)


if __name__ == "__main__":
    main()
