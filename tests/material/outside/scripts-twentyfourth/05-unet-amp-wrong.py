"""Binary segmentation (images/*.png, masks/*.png) with a small U-Net and mixed precision."""
import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split


class MaskFolder(Dataset):
    def __init__(self, root, size):
        self.root, self.size = root, size
        self.names = sorted(f for f in os.listdir(os.path.join(root, "images")) if f.endswith(".png"))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, idx):
        n = self.names[idx]
        img = Image.open(os.path.join(self.root, "images", n)).convert("RGB").resize((self.size, self.size))
        msk = Image.open(os.path.join(self.root, "masks", n)).convert("L").resize((self.size, self.size), Image.NEAREST)
        img = torch.from_numpy(np.array(img, dtype=np.float32)).permute(2, 0, 1) / 255.0
        msk = torch.from_numpy((np.array(msk) > 127).astype(np.float32))[None]
        return img, msk


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.GroupNorm(4, cout), nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.GroupNorm(4, cout), nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.d1 = DoubleConv(3, base)
        self.d2 = DoubleConv(base, base * 2)
        self.d3 = DoubleConv(base * 2, base * 4)
        self.u2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.c2 = DoubleConv(base * 4, base * 2)
        self.u1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.c1 = DoubleConv(base * 2, base)
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        y = self.c2(torch.cat([self.u2(c), b], 1))
        y = self.c1(torch.cat([self.u1(y), a], 1))
        return self.head(y)


def dice_loss(logits, target, eps=1.0):
    p = torch.sigmoid(logits.float())
    inter = (p * target).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean()


@torch.no_grad()
def mean_dice(net, loader, device):
    net.eval()
    scores = []
    for img, msk in loader:
        pred = (net(img.to(device)) > 0).float().cpu()
        inter = (pred * msk).sum((1, 2, 3))
        scores.append((2 * inter + 1e-6) / (pred.sum((1, 2, 3)) + msk.sum((1, 2, 3)) + 1e-6))
    net.train()
    return torch.cat(scores).mean().item()


def train(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    amp_dtype = torch.float16 if device.type == "cuda" else torch.bfloat16

    full = MaskFolder(args.root, args.size)
    n_val = max(1, int(len(full) * 0.2))
    train_set, val_set = random_split(full, [len(full) - n_val, n_val], generator=torch.Generator().manual_seed(0))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    net = UNet().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler(device.type, enabled=args.amp)

    for epoch in range(1, args.epochs + 1):
        net.train()
        epoch_loss = 0.0
        for img, msk in train_loader:
            img, msk = img.to(device), msk.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=amp_dtype, enabled=args.amp):
                logits = net(img)
                loss = F.binary_cross_entropy_with_logits(logits, msk) + dice_loss(logits, msk)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            epoch_loss += loss.item()
        print(f"epoch {epoch}/{args.epochs} loss={epoch_loss / len(train_loader):.4f} "
              f"dice={mean_dice(net, val_loader, device):.4f} scale={scaler.get_scale():.0f}")

    torch.save({"net": net.state_dict(), "args": vars(args)}, args.output)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("-o", "--output", default="unet.pth")
    p.add_argument("--size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=123)
    p.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
    train(p.parse_args())
