"""Train a small CNN on a folder of images (root/split/class/*.png).

    python 01-shapes_cnn.py --data-dir data/shapes --epochs 8
"""
import argparse
import logging
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("shapes")


class ImageFolder(Dataset):
    def __init__(self, root, augment=False):
        root = Path(root)
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = [
            (f, i) for i, c in enumerate(self.classes) for f in sorted((root / c).glob("*.png"))
        ]
        self.augment = augment

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        path, label = self.samples[idx]
        img = np.asarray(Image.open(path).convert("L"), dtype=np.float32) / 255.0
        x = torch.from_numpy(img)[None]
        x = (x - 0.35) / 0.3
        if self.augment and random.random() < 0.5:
            x = torch.flip(x, dims=[2])
        return x, label


class ConvNet(nn.Module):
    def __init__(self, num_classes, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(2 * width * 36, 64), nn.ReLU(inplace=True), nn.Dropout(0.2), nn.Linear(64, num_classes)
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    running, seen = 0.0, 0
    optimizer.zero_grad()
    for images, targets in loader:
        images, targets = images.to(device), targets.to(device)
        loss = F.cross_entropy(model(images), targets, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        running += loss.item() * images.size(0)
        seen += images.size(0)
    return running / seen


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct, total = 0, 0
    for images, targets in loader:
        pred = model(images.to(device)).argmax(1).cpu()
        correct += (pred == targets).sum().item()
        total += targets.numel()
    return correct / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data-dir", required=True)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--momentum", type=float, default=0.9)
    ap.add_argument("--weight-decay", type=float, default=5e-4)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_set = ImageFolder(Path(args.data_dir) / "train", augment=True)
    val_set = ImageFolder(Path(args.data_dir) / "val")
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=64)
    log.info("classes=%s train=%d val=%d", train_set.classes, len(train_set), len(val_set))

    model = ConvNet(len(train_set.classes)).to(device)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay
    )
    scheduler = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, milestones=[int(args.epochs * 0.6), int(args.epochs * 0.85)], gamma=0.2
    )

    best = 0.0
    for epoch in range(1, args.epochs + 1):
        loss = train_one_epoch(model, train_loader, optimizer, device)
        acc = evaluate(model, val_loader, device)
        scheduler.step()
        best = max(best, acc)
        log.info("epoch %2d  loss %.4f  val acc %.3f  lr %.4g", epoch, loss, acc, scheduler.get_last_lr()[0])
    log.info("best val acc %.3f", best)


if __name__ == "__main__":
    main()
