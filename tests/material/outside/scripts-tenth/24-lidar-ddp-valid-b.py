"""Ground segmentation of lidar range images with invalid returns (label 255), DDP.

scans/*.npz with "range" (C,H,W float32) and "label" (H,W uint8)
"""
import argparse
import glob
import logging
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

VOID = 255


class Scans(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        blob = np.load(self.files[i])
        return torch.from_numpy(blob["range"]).float(), torch.from_numpy(blob["label"].astype(np.int64))


class RangeNet(nn.Module):
    def __init__(self, cin, classes, w):
        super().__init__()

        def conv(i, o, d=1):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=d, dilation=d), nn.GroupNorm(4, o), nn.LeakyReLU(0.1))

        self.net = nn.Sequential(conv(cin, w), conv(w, w), conv(w, w, 2), conv(w, w, 4), conv(w, w),
                                 nn.Conv2d(w, classes, 1))

    def forward(self, x):
        return self.net(x)


def mean_iou(confusion):
    inter = confusion.diag()
    union = confusion.sum(0) + confusion.sum(1) - inter
    seen = union > 0
    return (inter[seen] / union[seen]).mean().item()


@torch.no_grad()
def evaluate(model, loader, classes, device):
    model.eval()
    confusion = torch.zeros(classes, classes, device=device, dtype=torch.float64)
    for x, y in loader:
        pred = model(x.to(device)).argmax(1)
        y = y.to(device)
        keep = y != VOID
        idx = y[keep] * classes + pred[keep]
        confusion += torch.bincount(idx, minlength=classes ** 2).view(classes, classes)
    dist.all_reduce(confusion)
    return mean_iou(confusion)


def worker(rank, world, args):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(args.port)
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=world)
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    log = logging.getLogger("train")
    torch.manual_seed(args.seed)

    files = sorted(glob.glob(os.path.join(args.scans, "*.npz")))
    n_val = max(world, len(files) // 10)
    train_set, val_set = Scans(files[:-n_val]), Scans(files[-n_val:])
    sampler = DistributedSampler(train_set, world, rank, drop_last=True)
    train = DataLoader(train_set, args.batch, sampler=sampler, drop_last=True, num_workers=args.workers)
    val = DataLoader(val_set, args.batch, sampler=DistributedSampler(val_set, world, rank, shuffle=False))

    model = RangeNet(train_set[0][0].shape[0], args.classes, args.width).to(device)
    model = DistributedDataParallel(model, device_ids=[rank] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, args.epochs * len(train), power=0.9)

    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        sums = torch.zeros(2, device=device)
        for x, y in train:
            x, y = x.to(device), y.to(device)
            loss_sum = F.cross_entropy(model(x), y, ignore_index=VOID, reduction="sum")
            valid = (y != VOID).sum().float()
            sums += torch.stack([loss_sum.detach(), valid])
            dist.all_reduce(valid)
            loss = loss_sum * world / valid.clamp(min=1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
        dist.all_reduce(sums)
        miou = evaluate(model, val, args.classes, device)
        log.info("epoch %d loss %.4f mIoU %.4f lr %.2e", epoch, (sums[0] / sums[1]).item(), miou,
                 scheduler.get_last_lr()[0])
        if rank == 0 and miou > best:
            torch.save(model.module.state_dict(), args.out)
        best = max(best, miou)
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--scans", default="scans")
    ap.add_argument("--classes", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--width", type=int, default=48)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--port", type=int, default=29571)
    ap.add_argument("--out", default="rangenet.pt")
    args = ap.parse_args()
    world = max(2, torch.cuda.device_count())
    mp.spawn(worker, args=(world, args), nprocs=world)


if __name__ == "__main__":
    main()
