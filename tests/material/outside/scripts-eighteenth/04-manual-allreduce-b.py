# run: torchrun --standalone --nproc-per-node=2 <this file>
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def average_gradients(model, world_size):
    for p in model.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad /= world_size


def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=0)


def shard(rank, world_size, n=256):
    g = torch.Generator().manual_seed(11)
    x = torch.randn(n, 6, generator=g)
    w = torch.randn(6, 3, generator=g)
    y = (x @ w + 0.3 * torch.randn(n, 3, generator=g)).argmax(1)
    x[::8] *= 6.0            # a few badly scaled sensors
    return x[rank::world_size], y[rank::world_size]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--bs", type=int, default=16)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--max-norm", type=float, default=0.5)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(int(os.environ.get("SEED", 0)) + rank)

    model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
    broadcast_parameters(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)

    x, y = shard(rank, world_size)
    for epoch in range(args.epochs):
        perm = torch.randperm(len(x))
        ep_loss = torch.zeros(1)
        steps = 0
        for s in range(0, len(x), args.bs):
            idx = perm[s:s + args.bs]
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            average_gradients(model, world_size)
            nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            optimizer.step()
            ep_loss += loss.detach()
            steps += 1
        ep_loss /= steps
        dist.all_reduce(ep_loss)
        if rank == 0:
            print(f"epoch {epoch} loss {ep_loss.item() / world_size:.5f}")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
