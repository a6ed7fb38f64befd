import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class RoadDataset(Dataset):
    """images/xxx.jpg with masks/xxx.png (255 = road)."""

    def __init__(self, root, names, size, augment):
        self.root, self.names, self.size, self.augment = Path(root), names, size, augment

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        img = Image.open(self.root / "images" / f"{name}.jpg").convert("RGB").resize((self.size, self.size))
        msk = Image.open(self.root / "masks" / f"{name}.png").convert("L").resize((self.size, self.size), Image.NEAREST)
        x = torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255.0
        y = (torch.from_numpy(np.array(msk)) > 127).float().unsqueeze(0)
        if self.augment and torch.rand(1) < 0.5:
            x, y = x.flip(-1), y.flip(-1)
        if self.augment and torch.rand(1) < 0.5:
            x, y = x.flip(-2), y.flip(-2)
        return x, y


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base=32, depth=4):
        super().__init__()
        ch = [base * 2 ** i for i in range(depth + 1)]
        self.inc = double_conv(3, ch[0])
        self.down = nn.ModuleList(double_conv(a, b) for a, b in zip(ch[:-1], ch[1:]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(ch[:-1], ch[1:]))
        self.dec = nn.ModuleList(double_conv(2 * a, a) for a in ch[:-1])
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        x = self.inc(x)
        skips = []
        for d in self.down:
            skips.append(x)
            x = d(F.max_pool2d(x, 2))
        for up, dec, s in zip(reversed(self.up), reversed(self.dec), reversed(skips)):
            x = dec(torch.cat([up(x), s], 1))
        return self.out(x)


def dice_loss(logits, target, eps=1.0):
    p = torch.sigmoid(logits)
    inter = (p * target).sum((1, 2, 3))
    union = p.sum((1, 2, 3)) + target.sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (union + eps)).mean()


def train_one_epoch(model, loader, opt, scaler, device, clip):
    model.train()
    losses = []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        opt.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.float16, enabled=scaler.is_enabled()):
            logits = model(x)
        logits = logits.float()
        loss = F.binary_cross_entropy_with_logits(logits, y) + dice_loss(logits, y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(opt)
        scaler.update()
        losses.append(loss.item())
    return float(np.mean(losses))


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    inter = union = 0.0
    for x, y in loader:
        pred = model(x.to(device)).cpu() > 0
        y = y.bool()
        inter += (pred & y).sum().item()
        union += (pred | y).sum().item()
    return inter / max(union, 1.0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True, type=Path)
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--bs", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=80)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--base", type=int, default=32)
    ap.add_argument("--workers", type=int, default=4)
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    names = sorted(p.stem for p in (args.root / "images").glob("*.jpg"))
    rng = np.random.default_rng(0)
    rng.shuffle(names)
    k = max(1, len(names) // 10)
    train = DataLoader(RoadDataset(args.root, names[k:], args.size, True), args.bs, shuffle=True,
                       num_workers=args.workers, drop_last=True)
    val = DataLoader(RoadDataset(args.root, names[:k], args.size, False), args.bs, num_workers=args.workers)

    model = UNet(args.base).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")

    best = 0.0
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train, opt, scaler, device, args.clip)
        iou = validate(model, val, device)
        sched.step()
        print(f"epoch {epoch:3d} loss {loss:.4f} IoU {iou:.4f}")
        if iou > best:
            best = iou
            torch.save(model.state_dict(), args.root / "unet_best.pt")


if __name__ == "__main__":
    main()
