import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class TwoViews:
    def __init__(self, base):
        self.base = base

    def __call__(self, img):
        return self.base(img), self.base(img)


def augmentation(size=32):
    jitter = transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)
    return transforms.Compose([
        transforms.RandomResizedCrop(size, scale=(0.2, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.RandomApply([jitter], p=0.8),
        transforms.RandomGrayscale(p=0.2),
        transforms.ToTensor(),
        transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    ])


class BasicBlock(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o))
        self.short = nn.Sequential()
        if s != 1 or i != o:
            self.short = nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.net(x) + self.short(x))


class SimCLR(nn.Module):
    def __init__(self, width=64, proj=128):
        super().__init__()
        w = width
        layers = [nn.Conv2d(3, w, 3, 1, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(inplace=True)]
        i = w
        for o, s in ((w, 1), (w, 1), (2 * w, 2), (2 * w, 1), (4 * w, 2), (4 * w, 1), (8 * w, 2), (8 * w, 1)):
            layers.append(BasicBlock(i, o, s))
            i = o
        self.encoder = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.projector = nn.Sequential(nn.Linear(i, i), nn.ReLU(inplace=True), nn.Linear(i, proj))

    def forward(self, x):
        return F.normalize(self.projector(self.encoder(x)), dim=1)


def nt_xent(z1, z2, temperature):
    z = torch.cat([z1, z2])
    n = len(z1)
    sim = (z @ z.T).float() / temperature
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)


@torch.no_grad()
def knn_accuracy(model, bank_loader, test_loader, device, k=50):
    model.eval()
    feats, labels = [], []
    for x, y in bank_loader:
        feats.append(F.normalize(model.encoder(x.to(device)), dim=1))
        labels.append(y.to(device))
    feats, labels = torch.cat(feats), torch.cat(labels)
    hits = total = 0
    for x, y in test_loader:
        f = F.normalize(model.encoder(x.to(device)), dim=1)
        near = (f @ feats.T).topk(min(k, len(feats)), dim=1).indices
        votes = labels[near]
        hits += (votes.mode(1).values == y.to(device)).sum().item()
        total += len(y)
    return hits / total


def train_one_epoch(model, loader, optimizer, scheduler, scaler, device, temperature):
    model.train()
    meter = 0.0
    for (v1, v2), _ in loader:
        v1, v2 = v1.to(device, non_blocking=True), v2.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, enabled=scaler.is_enabled()):
            z1, z2 = model(torch.cat([v1, v2])).chunk(2)
        loss = nt_xent(z1.float(), z2.float(), temperature)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        meter += loss.item()
    return meter / len(loader)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default=os.path.expanduser("~/data"))
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--batch-size", type=int, default=512)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--temperature", type=float, default=0.5)
    ap.add_argument("--width", type=int, default=64)
    ap.add_argument("--workers", type=int, default=8)
    ap.add_argument("--eval-every", type=int, default=10)
    args = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    plain = transforms.Compose([transforms.ToTensor(),
                                transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))])
    pairs = datasets.CIFAR10(args.data, train=True, download=True, transform=TwoViews(augmentation()))
    bank = datasets.CIFAR10(args.data, train=True, transform=plain)
    test = datasets.CIFAR10(args.data, train=False, transform=plain)
    loader = DataLoader(pairs, args.batch_size, shuffle=True, drop_last=True, num_workers=args.workers,
                        pin_memory=True)
    bank_loader = DataLoader(bank, 512, num_workers=args.workers)
    test_loader = DataLoader(test, 512, num_workers=args.workers)

    model = SimCLR(args.width).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs * len(loader))
    scaler = torch.amp.GradScaler(device, enabled=device == "cuda")

    for epoch in range(1, args.epochs + 1):
        loss = train_one_epoch(model, loader, optimizer, scheduler, scaler, device, args.temperature)
        line = f"epoch {epoch} loss {loss:.4f}"
        if epoch % args.eval_every == 0:
            line += f" knn {knn_accuracy(model, bank_loader, test_loader, device):.4f}"
        print(line, flush=True)
    torch.save(model.encoder.state_dict(), "simclr_encoder.pt")


if __name__ == "__main__":
    main()
