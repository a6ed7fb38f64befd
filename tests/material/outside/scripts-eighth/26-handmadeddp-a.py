"""Data-parallel training without the DDP wrapper (gloo, works on CPU nodes).

    torchrun --standalone --nproc_per_node=2 train_rings.py --points 20000
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_rings(n, seed, classes=5, noise=0.08):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    r = 0.3 + 0.3 * y + noise * torch.randn(n, generator=g)
    a = 2 * torch.pi * torch.rand(n, generator=g)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


class MLP(nn.Module):
    def __init__(self, classes=5, width=128, depth=3):
        super().__init__()
        dims = [2] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        for l in self.layers:
            x = F.relu(l(x))
        return self.out(x)


def broadcast_model(model):
    for t in list(model.parameters()) + list(model.buffers()):
        dist.broadcast(t.data, src=0)


def sync_gradients(model):
    """One flat all-reduce instead of one per tensor."""
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    flat /= dist.get_world_size()
    offset = 0
    for g in grads:
        g.copy_(flat[offset:offset + g.numel()].view_as(g))
        offset += g.numel()


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--points", type=int, default=20000)
    ap.add_argument("--batch", type=int, default=64, help="per process")
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--momentum", type=float, default=0.9)
    ap.add_argument("--save", default=None)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)

    x, y = make_rings(args.points, seed=0)
    xv, yv = make_rings(2000, seed=1)
    sampler = DistributedSampler(TensorDataset(x, y), num_replicas=world, rank=rank, shuffle=True, drop_last=True)
    loader = DataLoader(TensorDataset(x, y), args.batch, sampler=sampler, drop_last=True)

    model = MLP()
    broadcast_model(model)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs * len(loader))

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for xb, yb in loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            sync_gradients(model)
            opt.step()
            sched.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {total.item() / (world * len(loader)):.4f} "
                  f"val acc {evaluate(model, xv, yv):.4f}", flush=True)

    if rank == 0 and args.save:
        torch.save(model.state_dict(), args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
