"""SimCLR-style pretraining for accelerometer windows.

torchrun --nproc_per_node=N pretrain.py --windows windows.npy
windows.npy: float32 [N, C, T]
"""
import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class GatherLayer(torch.autograd.Function):
    """Gather embeddings from all processes, keeping gradients."""

    @staticmethod
    def forward(ctx, x):
        out = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(out, x.contiguous())
        return tuple(out)

    @staticmethod
    def backward(ctx, *grads):
        stacked = torch.stack(grads)
        return stacked[dist.get_rank()]


class TwoViews(Dataset):
    def __init__(self, path, jitter=0.1, scale=0.2):
        self.x = np.load(path, mmap_mode="r")
        self.jitter, self.scale = jitter, scale

    def __len__(self):
        return len(self.x)

    def augment(self, x):
        x = x + torch.randn_like(x) * self.jitter
        x = x * (1 + torch.randn(x.size(0), 1) * self.scale)
        shift = int(torch.randint(x.size(1), (1,)))
        return torch.roll(x, shift, dims=1)

    def __getitem__(self, i):
        x = torch.from_numpy(np.array(self.x[i], dtype=np.float32))
        return self.augment(x), self.augment(x)


class Encoder(nn.Module):
    def __init__(self, c_in, dim=64, proj=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv1d(c_in, 32, 7, 2, 3), nn.GroupNorm(4, 32), nn.ReLU(),
            nn.Conv1d(32, dim, 5, 2, 2), nn.GroupNorm(4, dim), nn.ReLU(),
            nn.Conv1d(dim, dim, 3, 2, 1), nn.GroupNorm(4, dim), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.projector = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, proj))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def info_nce(z1, z2, temperature):
    """Each rank scores its own anchors against the views of every rank."""
    b, rank = z1.size(0), dist.get_rank()
    k1 = torch.cat(GatherLayer.apply(z1))
    k2 = torch.cat(GatherLayer.apply(z2))
    labels = torch.arange(b, device=z1.device) + rank * b
    own = F.one_hot(labels, k1.size(0)).bool()

    def side(q, same, other):
        l_same = (q @ same.t() / temperature).masked_fill(own, float("-inf"))
        l_other = q @ other.t() / temperature
        return F.cross_entropy(torch.cat([l_other, l_same], 1), labels)

    return 0.5 * (side(z1, k1, k2) + side(z2, k2, k1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--windows", required=True)
    ap.add_argument("--epochs", type=int, default=100)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--temp", type=float, default=0.2)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--out", default="encoder.pt")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(100 + rank)

    data = TwoViews(args.windows)
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, args.batch, sampler=sampler, num_workers=args.workers, drop_last=True)
    model = DistributedDataParallel(Encoder(data.x.shape[1]).to(device), device_ids=[local] if cuda else None)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    total = args.epochs * len(loader)
    warm = max(1, total // 20)
    sched = torch.optim.lr_scheduler.SequentialLR(opt, [
        torch.optim.lr_scheduler.LinearLR(opt, 0.01, 1.0, warm),
        torch.optim.lr_scheduler.CosineAnnealingLR(opt, max(1, total - warm))], milestones=[warm])

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        meter = torch.zeros(2, device=device)
        for v1, v2 in loader:
            v1, v2 = v1.to(device), v2.to(device)
            z1, z2 = model(torch.cat([v1, v2])).chunk(2)
            loss = info_nce(z1, z2, args.temp)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            meter += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(meter)
        if rank == 0:
            print(f"epoch {epoch} nce {(meter[0] / meter[1]).item():.4f} lr {sched.get_last_lr()[0]:.4f}", flush=True)
            torch.save(model.module.backbone.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
