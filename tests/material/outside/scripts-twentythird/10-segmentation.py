"""Binary cell segmentation with a tiny U-Net and mixed precision."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CellDataset(Dataset):
    def __init__(self, images, masks, augment):
        self.images, self.masks, self.augment = images, masks, augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i]).permute(2, 0, 1).float() / 255.0
        m = torch.from_numpy(self.masks[i]).float()[None]
        if self.augment:
            if torch.rand(()) < 0.5:
                x, m = x.flip(-1), m.flip(-1)
            if torch.rand(()) < 0.5:
                x, m = x.flip(-2), m.flip(-2)
        return x - 0.5, m


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.down1 = double_conv(3, ch)
        self.down2 = double_conv(ch, 2 * ch)
        self.mid = double_conv(2 * ch, 4 * ch)
        self.up2 = nn.ConvTranspose2d(4 * ch, 2 * ch, 2, 2)
        self.dec2 = double_conv(4 * ch, 2 * ch)
        self.up1 = nn.ConvTranspose2d(2 * ch, ch, 2, 2)
        self.dec1 = double_conv(2 * ch, ch)
        self.head = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        m = self.mid(F.max_pool2d(d2, 2))
        u2 = self.dec2(torch.cat([self.up2(m), d2], 1))
        u1 = self.dec1(torch.cat([self.up1(u2), d1], 1))
        return self.head(u1)


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid()
    inter = (p * target).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean()


@torch.no_grad()
def mean_iou(model, loader, device):
    model.eval()
    inter = union = 0.0
    for x, m in loader:
        p = model(x.to(device)).cpu() > 0
        m = m > 0.5
        inter += (p & m).sum().item()
        union += (p | m).sum().item()
    return inter / max(union, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--npz", required=True)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=12)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--no-amp", dest="amp", action="store_false")
    args = ap.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    amp_dtype = torch.float16 if device.type == "cuda" else torch.bfloat16

    data = np.load(args.npz)
    images, masks = data["images"], data["masks"]
    cut = int(0.8 * len(images))
    train_loader = DataLoader(CellDataset(images[:cut], masks[:cut], True), args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(CellDataset(images[cut:], masks[cut:], False), 32)

    model = UNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=args.epochs, power=0.9)
    scaler = torch.amp.GradScaler(device.type, enabled=args.amp)

    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, m in train_loader:
            x, m = x.to(device), m.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=amp_dtype, enabled=args.amp):
                logits = model(x)
            logits = logits.float()
            loss = F.binary_cross_entropy_with_logits(logits, m) + dice_loss(logits, m)

            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            running += loss.item()
        scheduler.step()
        print(
            f"epoch {epoch + 1}/{args.epochs} loss {running / len(train_loader):.4f} "
            f"IoU {mean_iou(model, val_loader, device):.3f} scale {scaler.get_scale():.0f}"
        )


if __name__ == "__main__":
    main()
