"""Product re-identification: softmax + center loss.

shots/<product id>/*.png; the last image of every product is kept for retrieval evaluation.
"""
import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Shots(Dataset):
    def __init__(self, items, size, augment):
        self.items, self.size, self.augment = items, size, augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        im = Image.open(path).convert("RGB").resize((self.size, self.size))
        x = torch.from_numpy(np.array(im)).permute(2, 0, 1).float() / 255
        if self.augment:
            if torch.rand(()) < 0.5:
                x = x.flip(-1)
            x = (x * (0.8 + 0.4 * torch.rand(()))).clamp(0, 1)
        return (x - 0.5) / 0.25, label


def scan(root):
    train, probe = [], []
    names = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
    for k, name in enumerate(names):
        files = sorted((Path(root) / name).glob("*.png"))
        train += [(f, k) for f in files[:-1]]
        probe.append((files[-1], k))
    return train, probe, len(names)


class Embedder(nn.Module):
    def __init__(self, width, dim, classes):
        super().__init__()
        layers, i = [], 3
        for o in (width, 2 * width, 4 * width, 4 * width):
            layers += [nn.Conv2d(i, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.PReLU(), nn.MaxPool2d(2)]
            i = o
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, dim))
        self.bnneck = nn.BatchNorm1d(dim)
        self.classifier = nn.Linear(dim, classes, bias=False)

    def forward(self, x):
        f = self.features(x)
        if not self.training:
            return F.normalize(self.bnneck(f), dim=1)
        return f, self.classifier(self.bnneck(f))


class CenterLoss(nn.Module):
    def __init__(self, classes, dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(classes, dim))

    def forward(self, f, y):
        return 0.5 * (f - self.centers[y]).pow(2).sum(1).mean()


@torch.no_grad()
def rank1(model, gallery, probe, device):
    model.eval()
    feats = lambda loader: [torch.cat(t) for t in zip(*[(model(x.to(device)).cpu(), y) for x, y in loader])]
    gf, gy = feats(gallery)
    pf, py = feats(probe)
    return (gy[(pf @ gf.T).argmax(1)] == py).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", default="shots")
    ap.add_argument("--epochs", type=int, default=80)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--size", type=int, default=96)
    ap.add_argument("--width", type=int, default=48)
    ap.add_argument("--dim", type=int, default=256)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--center-lr", type=float, default=0.5)
    ap.add_argument("--center-weight", type=float, default=0.05)
    args = ap.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_items, probe_items, classes = scan(args.root)
    train = DataLoader(Shots(train_items, args.size, True), args.batch, shuffle=True, drop_last=True)
    gallery = DataLoader(Shots(train_items, args.size, False), args.batch)
    probe = DataLoader(Shots(probe_items, args.size, False), args.batch)

    model = Embedder(args.width, args.dim, classes).to(device)
    center_loss = CenterLoss(classes, args.dim).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    optimizer_center = torch.optim.SGD(center_loss.parameters(), lr=args.center_lr)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, [int(args.epochs * 0.5), int(args.epochs * 0.8)], gamma=0.1)

    for epoch in range(args.epochs):
        model.train()
        sums = torch.zeros(2)
        for x, y in train:
            x, y = x.to(device), y.to(device)
            f, logits = model(x)
            ce = F.cross_entropy(logits, y, label_smoothing=0.1)
            center = center_loss(f, y)
            loss = ce + args.center_weight * center
            optimizer.zero_grad()
            optimizer_center.zero_grad()
            loss.backward()
            optimizer.step()
            optimizer_center.step()
            sums += torch.tensor([ce.item(), center.item()])
        scheduler.step()
        sums /= len(train)
        print(f"epoch {epoch} ce {sums[0]:.4f} center {sums[1]:.4f} rank-1 {rank1(model, gallery, probe, device):.4f}")
    torch.save(model.state_dict(), "reid.pt")


if __name__ == "__main__":
    main()
