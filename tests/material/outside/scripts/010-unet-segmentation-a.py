import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """Random rectangles and discs; the mask holds 0 background, 1 rectangle, 2 disc."""

    def __init__(self, length, size=32, seed=0):
        self.length, self.size, self.seed = length, size, seed

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(self.seed * 100003 + idx)
        s = self.size
        mask = torch.zeros(s, s, dtype=torch.long)
        x, y, w, h = (torch.rand(4, generator=g) * s / 2).long().tolist()
        mask[y:y + h + 4, x:x + w + 4] = 1
        cx, cy, r = (torch.rand(3, generator=g) * torch.tensor([s, s, s / 5]) + torch.tensor([0, 0, 3.0])).tolist()
        yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing="ij")
        mask[(xx - cx) ** 2 + (yy - cy) ** 2 < r * r] = 2
        palette = torch.tensor([[0.1, 0.1, 0.1], [0.8, 0.3, 0.2], [0.2, 0.4, 0.9]])
        img = palette[mask].permute(2, 0, 1) + 0.15 * torch.randn(3, s, s, generator=g)
        return img, mask


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_classes=3, base=8):
        super().__init__()
        self.d1, self.d2, self.mid = double_conv(3, base), double_conv(base, base * 2), double_conv(base * 2, base * 4)
        self.u2, self.u1 = double_conv(base * 6, base * 2), double_conv(base * 3, base)
        self.head = nn.Conv2d(base, n_classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, scale_factor=2), a], 1))
        return self.head(a)


def dice_loss(logits, target, eps=1.0):
    probs = logits.softmax(1)
    onehot = F.one_hot(target, logits.size(1)).permute(0, 3, 1, 2).float()
    inter = (probs * onehot).sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (probs.sum((0, 2, 3)) + onehot.sum((0, 2, 3)) + eps)).mean()


def train_one_epoch(model, loader, optimizer, device, accum):
    model.train()
    total = 0.0
    n_batches = len(loader)
    optimizer.zero_grad()
    for i, (images, masks) in enumerate(loader):
        images, masks = images.to(device), masks.to(device)
        logits = model(images)
        loss = F.cross_entropy(logits, masks) + dice_loss(logits, masks)
        start = i - i % accum
        (loss / min(accum, n_batches - start)).backward()
        if i % accum == 0 or (i + 1) == n_batches:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item()
    return total / n_batches


@torch.inference_mode()
def evaluate(model, loader, device):
    model.eval()
    inter, union = torch.zeros(3), torch.zeros(3)
    for images, masks in loader:
        pred = model(images.to(device)).argmax(1).cpu()
        for c in range(3):
            inter[c] += ((pred == c) & (masks == c)).sum()
            union[c] += ((pred == c) | (masks == c)).sum()
    return (inter / union.clamp(min=1)).mean().item()


def get_args():
    p = argparse.ArgumentParser(description="Train the UNet on synthetic shapes")
    p.add_argument("--epochs", "-e", type=int, default=5)
    p.add_argument("--batch-size", "-b", type=int, default=4)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--learning-rate", "-l", type=float, default=0.05, dest="lr")
    p.add_argument("--samples", type=int, default=92)
    return p.parse_args()


def main():
    args = get_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(Shapes(args.samples), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(Shapes(24, seed=1), batch_size=8)
    model = UNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    best = -math.inf
    for epoch in range(1, args.epochs + 1):
        loss = train_one_epoch(model, train_loader, optimizer, device, args.accum)
        miou = evaluate(model, val_loader, device)
        print(f"Epoch {epoch}: loss={loss:.4f} mIoU={miou:.4f}")
        if miou > best:
            best = miou
            torch.save({"model": model.state_dict(), "epoch": epoch}, "unet_best.pth")


if __name__ == "__main__":
    main()
