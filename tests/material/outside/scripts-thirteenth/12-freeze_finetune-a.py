"""Train jointly for a few epochs, then freeze the encoder and polish the head."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def gaussian_blobs(n, classes, dim, seed):
    g = torch.Generator().manual_seed(seed)
    centers = torch.randn(classes, dim, generator=torch.Generator().manual_seed(123)) * 1.2
    y = torch.randint(0, classes, (n,), generator=g)
    x = centers[y] + torch.randn(n, dim, generator=g)
    return TensorDataset(x, y)


class Encoder(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.fc1 = nn.Linear(dim, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        return F.gelu(self.fc2(F.gelu(self.fc1(x))))


class Classifier(nn.Module):
    def __init__(self, dim, width, classes):
        super().__init__()
        self.encoder = Encoder(dim, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.norm(self.encoder(x)))


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)


def checksum(module):
    return sum(p.detach().double().abs().sum().item() for p in module.parameters())


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    ok = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return ok / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--freeze-at", type=int, default=3)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--wd", type=float, default=1e-2)
    ap.add_argument("--classes", type=int, default=10)
    ap.add_argument("--dim", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(0)

    train = DataLoader(gaussian_blobs(1500, args.classes, args.dim, 1), 50, shuffle=True)
    test = DataLoader(gaussian_blobs(500, args.classes, args.dim, 2), 250)
    model = Classifier(args.dim, 64, args.classes)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.wd)

    for epoch in range(args.epochs):
        if epoch == args.freeze_at:
            print("encoder frozen")
            freeze(model.encoder)
        model.train()
        total = 0.0
        for x, y in train:
            opt.zero_grad(set_to_none=False)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(train):.4f} acc {evaluate(model, test):.3f} "
              f"|enc| {checksum(model.encoder):.3f}")


if __name__ == "__main__":
    main()
