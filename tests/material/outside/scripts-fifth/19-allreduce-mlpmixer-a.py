import argparse
import os
import tempfile
from typing import Iterable

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn, Tensor


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(tokens, tokens * 2), nn.GELU(), nn.Linear(tokens * 2, tokens))
        self.chan = nn.Sequential(nn.Linear(dim, dim * 4), nn.GELU(), nn.Linear(dim * 4, dim))

    def forward(self, x):
        x = x + self.token(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.chan(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, image=32, patch=4, dim=128, depth=4, classes=8):
        super().__init__()
        n = (image // patch) ** 2
        self.stem = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.Sequential(*[MixerBlock(n, dim) for _ in range(depth)])
        self.norm, self.fc = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        return self.fc(self.norm(self.blocks(self.stem(x).flatten(2).transpose(1, 2))).mean(1))


def gratings(n, size, classes, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    ang = (y + 0.3 * torch.rand(n, generator=g)) * torch.pi / classes
    ax = torch.linspace(-3, 3, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    phase = torch.rand(n, generator=g)[:, None, None] * 6.28
    img = torch.sin(4 * (ang.cos()[:, None, None] * xx + ang.sin()[:, None, None] * yy) + phase)
    img = img[:, None].repeat(1, 3, 1, 1) + 0.5 * torch.randn(n, 3, size, size, generator=g)
    return img, y


class GradientSync:
    """Buckets gradients, one all-reduce a bucket; leaves the average over the ranks in .grad."""

    def __init__(self, params: Iterable[Tensor], world: int, bucket_mb: float = 4.0):
        self.world = world
        self.buckets, cur, size = [], [], 0
        for p in params:
            cur.append(p)
            size += p.numel() * p.element_size()
            if size > bucket_mb * 2 ** 20:
                self.buckets.append(cur)
                cur, size = [], 0
        if cur:
            self.buckets.append(cur)

    def __call__(self):
        pending = []
        for bucket in self.buckets:
            flat = torch.cat([p.grad.flatten() for p in bucket])
            pending.append((bucket, flat, dist.all_reduce(flat, async_op=True)))
        for bucket, flat, work in pending:
            work.wait()
            flat /= self.world
            for p, g in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad.copy_(g.view_as(p))


def main_worker(rank, world, init_file, args):
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if not cuda:
        torch.set_num_threads(1)
    torch.manual_seed(args.seed)                      # same weights everywhere
    model = Mixer(depth=args.depth).to(device)
    sync = GradientSync(model.parameters(), world)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    x, y = gratings(args.samples, 32, 8, 0)
    per_rank = args.samples // world
    gen = torch.Generator().manual_seed(args.seed)    # same permutation everywhere
    for epoch in range(args.epochs):
        model.train()
        mine = torch.randperm(args.samples, generator=gen)[rank * per_rank:(rank + 1) * per_rank]
        loss_sum = torch.zeros(1, device=device)
        batches = [b for b in mine.split(args.batch_size) if len(b) == args.batch_size]
        for idx in batches:
            loss = nn.functional.cross_entropy(model(x[idx].to(device)), y[idx].to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            sync()
            opt.step()
            loss_sum += loss.detach()
        dist.all_reduce(loss_sum)
        if rank == 0:
            print(f"epoch {epoch}: {loss_sum.item() / world / len(batches):.4f}", flush=True)
    if rank == 0 and args.save:
        torch.save(model.state_dict(), args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--procs", type=int, default=max(4, torch.cuda.device_count()))
    ap.add_argument("--samples", type=int, default=4096)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--depth", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--save", default="")
    a = ap.parse_args()
    init = os.path.join(tempfile.mkdtemp(), "init")
    mp.spawn(main_worker, (a.procs, init, a), nprocs=a.procs)
