"""2D U-Net for lesion segmentation with deep supervision and gradient accumulation."""
import argparse
import glob
import logging
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

LOG = logging.getLogger("unet")


class SliceDataset(Dataset):
    """Each npz holds `image` [H, W] float and `mask` [H, W] {0,1}."""

    def __init__(self, folder, train):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.npz")))
        self.train = train
        if not self.paths:
            raise FileNotFoundError(folder)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with np.load(self.paths[i]) as z:
            img, msk = z["image"].astype(np.float32), z["mask"].astype(np.float32)
        lo, hi = np.percentile(img, (1, 99))
        img = np.clip((img - lo) / (hi - lo + 1e-6), 0, 1).astype(np.float32)
        x, m = torch.from_numpy(img)[None], torch.from_numpy(msk)[None]
        if self.train:
            if torch.rand(()) < 0.5:
                x, m = x.flip(-1), m.flip(-1)
            if torch.rand(()) < 0.5:
                x, m = x.flip(-2), m.flip(-2)
        return x, m


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.01),
                         nn.Conv2d(o, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.01))


class UNet(nn.Module):
    def __init__(self, base=16, depth=3):
        super().__init__()
        w = [base * 2 ** k for k in range(depth + 1)]
        self.down = nn.ModuleList(double_conv(1 if k == 0 else w[k - 1], w[k]) for k in range(depth + 1))
        self.up = nn.ModuleList(nn.ConvTranspose2d(w[k + 1], w[k], 2, 2) for k in reversed(range(depth)))
        self.dec = nn.ModuleList(double_conv(2 * w[k], w[k]) for k in reversed(range(depth)))
        self.heads = nn.ModuleList(nn.Conv2d(w[k], 1, 1) for k in reversed(range(depth)))

    def forward(self, x):
        skips = []
        for k, d in enumerate(self.down):
            x = d(x if k == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        x, outs = skips.pop(), []
        for up, dec, head in zip(self.up, self.dec, self.heads):
            x = dec(torch.cat([up(x), skips.pop()], 1))
            outs.append(head(x))
        return outs[::-1]          # finest first


def dice_bce(logit, target):
    p = logit.sigmoid()
    inter = (p * target).sum((1, 2, 3))
    dice = 1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logit, target) + dice.mean()


def deep_loss(outs, target):
    weights = [0.5 ** k for k in range(len(outs))]
    total = 0.0
    for w, o in zip(weights, outs):
        t = target if o.shape == target.shape else F.adaptive_max_pool2d(target, o.shape[-2:])
        total = total + w * dice_bce(o, t)
    return total / sum(weights)


@torch.no_grad()
def dice_score(net, loader, device):
    net.eval()
    inter = union = 0.0
    for x, m in loader:
        p = (net(x.to(device))[0] > 0).float().cpu()
        inter += (p * m).sum().item()
        union += (p.sum() + m.sum()).item()
    return (2 * inter + 1) / (union + 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True, help="folder with train/ and val/")
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--batch", type=int, default=2)
    ap.add_argument("--accumulate", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--clip", type=float, default=12.0)
    ap.add_argument("--base", type=int, default=16)
    ap.add_argument("--out", default="unet.pt")
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set = SliceDataset(os.path.join(args.data, "train"), True)
    train = DataLoader(train_set, args.batch, shuffle=True, drop_last=True)
    val = DataLoader(SliceDataset(os.path.join(args.data, "val"), False), args.batch)
    steps = len(train) // args.accumulate
    assert steps > 0, "training set smaller than one effective batch"

    net = UNet(args.base).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.99, nesterov=True, weight_decay=3e-5)
    poly = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=args.epochs * steps, power=0.9)

    best = 0.0
    for epoch in range(args.epochs):
        net.train()
        batches, meter = iter(train), 0.0
        for _ in range(steps):
            opt.zero_grad(set_to_none=True)
            for _ in range(args.accumulate):
                x, m = next(batches)
                loss = deep_loss(net(x.to(device)), m.to(device))
                loss.backward()
                meter += loss.item()
            norm = nn.utils.clip_grad_norm_(net.parameters(), args.clip)
            opt.step()
            poly.step()
        d = dice_score(net, val, device)
        LOG.info("epoch %d loss %.4f dice %.4f last grad norm %.3f lr %.2e", epoch,
                 meter / (steps * args.accumulate), d, norm.item(), poly.get_last_lr()[0])
        if d > best:
            best = d
            torch.save({"net": net.state_dict(), "epoch": epoch, "dice": d}, args.out)


if __name__ == "__main__":
    main()
