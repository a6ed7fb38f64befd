"""3D liver segmentation. Each case is an .npz with 'ct' (D,H,W, Hounsfield units) and 'mask' (D,H,W)."""
import argparse
import glob
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PatchDataset(Dataset):
    def __init__(self, files, patch, per_case):
        self.files, self.patch, self.per_case = files, patch, per_case

    def __len__(self):
        return len(self.files) * self.per_case

    def __getitem__(self, i):
        with np.load(self.files[i // self.per_case]) as z:
            ct, mask = z["ct"], z["mask"]
        ct = np.clip(ct.astype(np.float32), -160, 240) / 200.0
        pad = [(0, max(0, p - s)) for p, s in zip(self.patch, ct.shape)]
        ct, mask = np.pad(ct, pad, constant_values=-0.8), np.pad(mask, pad)
        lo = [int(torch.randint(0, s - p + 1, (1,))) for s, p in zip(ct.shape, self.patch)]
        sl = tuple(slice(a, a + p) for a, p in zip(lo, self.patch))
        ct, mask = ct[sl], mask[sl]
        for ax in (1, 2):
            if torch.rand(1) < 0.5:
                ct, mask = np.flip(ct, ax), np.flip(mask, ax)
        return torch.from_numpy(ct.copy())[None], torch.from_numpy((mask > 0).astype(np.float32))[None]


def block(cin, cout):
    return nn.Sequential(
        nn.Conv3d(cin, cout, 3, padding=1), nn.InstanceNorm3d(cout, affine=True), nn.LeakyReLU(0.01),
        nn.Conv3d(cout, cout, 3, padding=1), nn.InstanceNorm3d(cout, affine=True), nn.LeakyReLU(0.01))


class UNet3D(nn.Module):
    def __init__(self, base=16, depth=3):
        super().__init__()
        ch = [base * 2 ** i for i in range(depth + 1)]
        self.enc = nn.ModuleList([block(1, ch[0])] + [block(ch[i], ch[i + 1]) for i in range(depth)])
        self.up = nn.ModuleList([nn.ConvTranspose3d(ch[i + 1], ch[i], 2, 2) for i in reversed(range(depth))])
        self.dec = nn.ModuleList([block(2 * ch[i], ch[i]) for i in reversed(range(depth))])
        self.out = nn.Conv3d(ch[0], 1, 1)

    def forward(self, x):
        skips = []
        for i, e in enumerate(self.enc):
            x = e(x if i == 0 else F.max_pool3d(x, 2))
            skips.append(x)
        skips.pop()
        for up, dec in zip(self.up, self.dec):
            x = dec(torch.cat([up(x), skips.pop()], 1))
        return self.out(x)


def dice_bce(logit, target):
    logit = logit.float()
    p = logit.sigmoid()
    dims = (1, 2, 3, 4)
    inter = (p * target).sum(dims)
    dice = (2 * inter + 1) / (p.sum(dims) + target.sum(dims) + 1)
    return (1 - dice).mean() + F.binary_cross_entropy_with_logits(logit, target)


@torch.no_grad()
def dice_score(model, loader, device):
    model.eval()
    inter = denom = 0.0
    for x, y in loader:
        p = (model(x.to(device)).cpu() > 0).float()
        inter += 2 * (p * y).sum().item()
        denom += (p.sum() + y.sum()).item()
    return inter / max(denom, 1.0)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        files = sorted(glob.glob(os.path.join(args.cases, "*.npz")))
        n_val = max(1, len(files) // 5)
        patch = tuple(args.patch)
        self.train_dl = DataLoader(PatchDataset(files[n_val:], patch, args.per_case), args.batch, shuffle=True,
                                   num_workers=args.workers)
        self.val_dl = DataLoader(PatchDataset(files[:n_val], patch, 4), args.batch)
        self.model = UNet3D().to(self.device)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.99, nesterov=True, weight_decay=3e-5)
        self.max_iter = args.epochs * len(self.train_dl)
        self.it = 0
        self.amp = self.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.amp)

    def adjust_lr(self):
        factor = (1 - self.it / self.max_iter) ** 0.9
        for group in self.opt.param_groups:
            group["lr"] = self.args.lr * factor

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_dl:
            self.adjust_lr()
            x, y = x.to(self.device), y.to(self.device)
            self.opt.zero_grad()
            with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp):
                logit = self.model(x)
            loss = dice_bce(logit, y)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.opt)
            nn.utils.clip_grad_norm_(self.model.parameters(), 12.0)
            self.scaler.step(self.opt)
            self.scaler.update()
            self.it += 1
            total += loss.item()
        return total / len(self.train_dl)

    def fit(self):
        best = -1.0
        for epoch in range(self.args.epochs):
            loss = self.train_epoch()
            dice = dice_score(self.model, self.val_dl, self.device)
            print(f"epoch {epoch} iter {self.it}/{self.max_iter} lr {self.opt.param_groups[0]['lr']:.5f} "
                  f"loss {loss:.4f} dice {dice:.4f}")
            if dice > best:
                best = dice
                torch.save(self.model.state_dict(), self.args.out)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--cases", required=True)
    ap.add_argument("--patch", type=int, nargs=3, default=[32, 96, 96])
    ap.add_argument("--per-case", type=int, default=8)
    ap.add_argument("--batch", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--out", default="liver_unet.pt")
    Trainer(ap.parse_args()).fit()
