# SimCLR pre-training on an unlabelled folder of aerial tiles
import argparse
import math
import os
from glob import glob

import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T
from torchvision.models import resnet18


class Tiles(Dataset):
    def __init__(self, pattern, size):
        self.files = sorted(glob(pattern, recursive=True))
        assert self.files, f"nothing matches {pattern}"
        self.aug = T.Compose([
            T.RandomResizedCrop(size, scale=(0.3, 1.0)),
            T.RandomHorizontalFlip(),
            T.RandomVerticalFlip(),
            T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            T.RandomGrayscale(p=0.2),
            T.ToTensor(),
            T.Normalize([0.5] * 3, [0.25] * 3),
        ])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = Image.open(self.files[i]).convert("RGB")
        return self.aug(img), self.aug(img)


class SimCLR(nn.Module):
    def __init__(self, out=128):
        super().__init__()
        self.encoder = resnet18(weights=None)
        d = self.encoder.fc.in_features
        self.encoder.fc = nn.Identity()
        self.projector = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, out))

    def forward(self, x):
        return F.normalize(self.projector(self.encoder(x)), dim=1)


def nt_xent(z1, z2, tau):
    z = torch.cat([z1, z2])
    n = z1.size(0)
    sim = z @ z.t() / tau
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, target)


def adjust_lr(optimizer, step, total, warmup, base):
    if step < warmup:
        lr = base * (step + 1) / warmup
    else:
        lr = 0.5 * base * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    for g in optimizer.param_groups:
        g["lr"] = lr
    return lr


def save(path, model, optimizer, epoch, step):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "epoch": epoch, "step": step}, path + ".tmp")
    os.replace(path + ".tmp", path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("pattern", help="e.g. '/data/tiles/**/*.png'")
    ap.add_argument("--size", type=int, default=96)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--lr", type=float, default=0.6)
    ap.add_argument("--tau", type=float, default=0.2)
    ap.add_argument("--ckpt", default="simclr.pt")
    ap.add_argument("--workers", type=int, default=8)
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Tiles(args.pattern, args.size), args.batch, shuffle=True, drop_last=True,
                        num_workers=args.workers, pin_memory=True, persistent_workers=args.workers > 0)
    model = SimCLR().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)

    start, step = 0, 0
    if os.path.exists(args.ckpt):
        ck = torch.load(args.ckpt, map_location=device)
        model.load_state_dict(ck["model"])
        optimizer.load_state_dict(ck["optimizer"])
        start, step = ck["epoch"] + 1, ck["step"]
        print(f"resumed from epoch {ck['epoch']}")

    total, warmup = args.epochs * len(loader), 10 * len(loader)
    for epoch in range(start, args.epochs):
        model.train()
        running = 0.0
        for v1, v2 in loader:
            lr = adjust_lr(optimizer, step, total, warmup, args.lr)
            v1, v2 = v1.to(device, non_blocking=True), v2.to(device, non_blocking=True)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                z = model(torch.cat([v1, v2]))
            z1, z2 = z.float().chunk(2)
            loss = nt_xent(z1, z2, args.tau)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            running += loss.item()
            step += 1
        print(f"epoch {epoch:3d} loss {running / len(loader):.4f} lr {lr:.4f}", flush=True)
        save(args.ckpt, model, optimizer, epoch, step)

    torch.save(model.encoder.state_dict(), "encoder_final.pt")


if __name__ == "__main__":
    main()
