import argparse
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms


class TwoCrops:
    def __init__(self, base):
        self.base = base

    def __call__(self, img):
        return self.base(img), self.base(img)


def augmentation():
    return transforms.Compose([
        transforms.RandomResizedCrop(32, scale=(0.2, 1.0)), transforms.RandomHorizontalFlip(),
        transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        transforms.RandomGrayscale(p=0.2), transforms.ToTensor(),
        transforms.Normalize([0.4914, 0.4822, 0.4465], [0.247, 0.2435, 0.2616])])


class SimSiam(nn.Module):
    def __init__(self, dim=2048, pred=512):
        super().__init__()
        net = models.resnet18(weights=None, zero_init_residual=True)
        net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        net.maxpool = nn.Identity()
        feat = net.fc.in_features
        net.fc = nn.Identity()
        self.backbone = net
        self.projector = nn.Sequential(
            nn.Linear(feat, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(inplace=True),
            nn.Linear(dim, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(inplace=True),
            nn.Linear(dim, dim, bias=False), nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, pred, bias=False), nn.BatchNorm1d(pred), nn.ReLU(inplace=True),
                                       nn.Linear(pred, dim))

    def forward(self, x1, x2):
        z1, z2 = self.projector(self.backbone(x1)), self.projector(self.backbone(x2))
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def negative_cosine(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


def adjust_lr(optimizer, base, epoch, epochs):
    lr = base * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
    for group in optimizer.param_groups:
        group["lr"] = base if group.get("fix_lr") else lr
    return lr


def main(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = datasets.CIFAR10(args.data, train=True, download=True, transform=TwoCrops(augmentation()))
    loader = DataLoader(data, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True, pin_memory=True)
    model = SimSiam(args.dim, args.pred_dim).to(device)
    base_lr = args.lr * args.batch_size / 256
    optimizer = torch.optim.SGD(
        [{"params": [*model.backbone.parameters(), *model.projector.parameters()], "fix_lr": False},
         {"params": model.predictor.parameters(), "fix_lr": True}], lr=base_lr, momentum=0.9, weight_decay=5e-4)
    start = 0
    if args.resume and os.path.isfile(args.resume):
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"]
        print(f"resumed from {args.resume} at epoch {start}")

    for epoch in range(start, args.epochs):
        lr = adjust_lr(optimizer, base_lr, epoch, args.epochs)
        model.train()
        t0, total, spread = time.time(), 0.0, 0.0
        for i, ((x1, x2), _) in enumerate(loader):
            x1, x2 = x1.to(device, non_blocking=True), x2.to(device, non_blocking=True)
            p1, p2, z1, z2 = model(x1, x2)
            loss = 0.5 * (negative_cosine(p1, z2) + negative_cosine(p2, z1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            with torch.no_grad():
                spread += F.normalize(z1, dim=1).std(0).mean().item() * z1.size(1) ** 0.5
            if i % args.print_freq == 0:
                print(f"[{epoch}][{i}/{len(loader)}] loss {loss.item():.4f} lr {lr:.4f}")
        n = len(loader)
        print(f"epoch {epoch} loss {total / n:.4f} spread {spread / n:.3f} {time.time() - t0:.0f}s")
        torch.save({"epoch": epoch + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
                   "simsiam.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="./data")
    p.add_argument("--epochs", type=int, default=200)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--lr", type=float, default=0.03)
    p.add_argument("--dim", type=int, default=2048)
    p.add_argument("--pred-dim", type=int, default=512)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--print-freq", type=int, default=50)
    p.add_argument("--resume", default="")
    p.add_argument("--seed", type=int, default=0)
    main(p.parse_args())
