import argparse
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def lesions(n, size=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.rand(n, 2, 1, 1, generator=g) * size
    r = 2 + 5 * torch.rand(n, 1, 1, generator=g)
    mask = (((xx - c[:, 0]) ** 2 + (yy - c[:, 1]) ** 2) < r ** 2).float()
    scan = 0.6 * mask + 0.4 * torch.randn(n, size, size, generator=g)
    return TensorDataset(scan.unsqueeze(1), mask.unsqueeze(1))


class FCN(nn.Module):
    def __init__(self, w=8):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, w, 3, padding=1), nn.ReLU(), nn.Conv2d(w, w, 3, padding=2, dilation=2),
                                  nn.ReLU(), nn.Conv2d(w, 1, 1))

    def forward(self, x):
        return self.body(x)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
        torch.manual_seed(args.seed)
        net = FCN().to(self.device)
        self.net = DDP(net, device_ids=[self.device.index] if self.device.type == "cuda" else None)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=args.lr, momentum=0.9)
        data = lesions(args.samples)
        self.sampler = DistributedSampler(data, seed=args.seed)
        self.loader = DataLoader(data, batch_size=args.batch_size, sampler=self.sampler)
        self.start_epoch = 0
        if args.resume and os.path.isfile(args.resume):
            ckpt = torch.load(args.resume, map_location=self.device)
            self.net.module.load_state_dict(ckpt["net"])
            self.opt.load_state_dict(ckpt["opt"])
            self.start_epoch = ckpt["epoch"] + 1

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.net.train()
        self.opt.zero_grad()
        n, k = len(self.loader), self.args.accumulate
        total = 0.0
        for i, (scan, mask) in enumerate(self.loader):
            scan, mask = scan.to(self.device), mask.to(self.device)
            last = i + 1 == n
            boundary = (i + 1) % k == 0
            window = k if i < n - n % k else n % k
            with nullcontext() if boundary else self.net.no_sync():
                loss = F.binary_cross_entropy_with_logits(self.net(scan), mask)
                (loss / window).backward()
            if boundary or last:
                self.opt.step()
                self.opt.zero_grad()
            total += loss.item()
        t = torch.tensor(total / n, device=self.device)
        dist.all_reduce(t)
        return t.item() / self.world

    def run(self):
        for epoch in range(self.start_epoch, self.args.epochs):
            loss = self.train_epoch(epoch)
            if self.rank == 0:
                print(f"epoch {epoch} bce {loss:.4f}", flush=True)
                torch.save({"net": self.net.module.state_dict(), "opt": self.opt.state_dict(), "epoch": epoch},
                           "last.ckpt")
        dist.barrier()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--accumulate", type=int, default=4)
    ap.add_argument("--samples", type=int, default=176)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--resume", default="")
    args = ap.parse_args()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    Trainer(args).run()
    dist.destroy_process_group()
