"""Road-scene segmentation, multi-GPU. images/*.png with labels/*.png (label 255 = void). Launch with torchrun."""
import argparse
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

VOID = 255


class RoadScenes(Dataset):
    def __init__(self, root, split, crop, train):
        self.root = Path(root)
        self.names = (self.root / f"{split}.txt").read_text().split()
        self.crop, self.train = crop, train

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        img = np.array(Image.open(self.root / "images" / f"{name}.png").convert("RGB"))
        lab = np.array(Image.open(self.root / "labels" / f"{name}.png"))
        if self.train:
            h, w = lab.shape
            c = self.crop
            ph, pw = max(0, c - h), max(0, c - w)
            img = np.pad(img, ((0, ph), (0, pw), (0, 0)))
            lab = np.pad(lab, ((0, ph), (0, pw)), constant_values=VOID)
            top = int(torch.randint(0, lab.shape[0] - c + 1, (1,)))
            left = int(torch.randint(0, lab.shape[1] - c + 1, (1,)))
            img, lab = img[top:top + c, left:left + c], lab[top:top + c, left:left + c]
            if torch.rand(1) < 0.5:
                img, lab = img[:, ::-1], lab[:, ::-1]
        x = torch.from_numpy(img.copy()).permute(2, 0, 1).float() / 127.5 - 1
        return x, torch.from_numpy(lab.astype(np.int64))


def cbr(cin, cout, stride=1, dil=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, dil, dil, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True))


class FastSeg(nn.Module):
    def __init__(self, n_cls, w=32):
        super().__init__()
        self.low = nn.Sequential(cbr(3, w, 2), cbr(w, 2 * w, 2))
        self.high = nn.Sequential(cbr(2 * w, 4 * w, 2), cbr(4 * w, 4 * w), cbr(4 * w, 4 * w, dil=2),
                                  cbr(4 * w, 4 * w, dil=4))
        self.fuse = cbr(6 * w, 2 * w)
        self.cls = nn.Conv2d(2 * w, n_cls, 1)

    def forward(self, x):
        low = self.low(x)
        high = F.interpolate(self.high(low), low.shape[2:], mode="bilinear", align_corners=False)
        out = self.cls(self.fuse(torch.cat([low, high], 1)))
        return F.interpolate(out, x.shape[2:], mode="bilinear", align_corners=False)


def pixel_loss(logits, target, world):
    """Cross entropy averaged over the labelled pixels of the global batch."""
    total = F.cross_entropy(logits, target, ignore_index=VOID, reduction="sum")
    count = (target != VOID).sum()
    dist.all_reduce(count)
    return total * world / count.clamp(min=1)


@torch.no_grad()
def mean_iou(model, loader, n_cls, device):
    model.eval()
    conf = torch.zeros(n_cls, n_cls, device=device)
    for x, y in loader:
        pred = model(x.to(device)).argmax(1)
        y = y.to(device)
        keep = y != VOID
        conf += torch.bincount(y[keep] * n_cls + pred[keep], minlength=n_cls ** 2).view(n_cls, n_cls)
    dist.all_reduce(conf)
    inter = conf.diag()
    union = conf.sum(0) + conf.sum(1) - inter
    return (inter / union.clamp(min=1))[union > 0].mean().item()


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--root", required=True)
    p.add_argument("--classes", type=int, default=19)
    p.add_argument("--crop", type=int, default=512)
    p.add_argument("--batch", type=int, default=4, help="per GPU")
    p.add_argument("--epochs", type=int, default=120)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--wd", type=float, default=5e-4)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--out", default="fastseg.pt")
    return p.parse_args()


def main():
    args = parse()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device(f"cuda:{local}" if cuda else "cpu")
    if cuda:
        torch.cuda.set_device(device)

    train_ds = RoadScenes(args.root, "train", args.crop, True)
    val_ds = RoadScenes(args.root, "val", args.crop, False)
    sampler = DistributedSampler(train_ds, shuffle=True, drop_last=True)
    train_dl = DataLoader(train_ds, args.batch, sampler=sampler, num_workers=args.workers, drop_last=True)
    val_dl = DataLoader(val_ds, 1, sampler=DistributedSampler(val_ds, shuffle=False))

    torch.manual_seed(0)
    model = FastSeg(args.classes).to(device)
    if cuda:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    ddp = DistributedDataParallel(model, device_ids=[local] if cuda else None)
    torch.manual_seed(1000 + rank)
    opt = torch.optim.SGD(ddp.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.wd)
    total = args.epochs * len(train_dl)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=total, power=0.9)

    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        ddp.train()
        running = torch.zeros((), device=device)
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            loss = pixel_loss(ddp(x), y, world)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            running += loss.detach()
        dist.all_reduce(running)
        miou = mean_iou(ddp, val_dl, args.classes, device)
        if rank == 0:
            print(f"epoch {epoch} loss {running.item() / world / len(train_dl):.4f} mIoU {miou:.4f} "
                  f"lr {sched.get_last_lr()[0]:.5f}", flush=True)
            if miou > best:
                best = miou
                torch.save(model.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
