"""
Poor man's ZeRO-1 on the wine table (gloo, 2 processes).

Each parameter tensor has an owner rank. After the backward pass the gradients are reduced to
their owners, the global norm is clipped at CLIP, each owner runs AdamW on what it owns, and
the new weights are broadcast. The result has to be the one of a single process with the
joint batch (loss = mean over the 2 * B rows) and clip_grad_norm_(all parameters, CLIP).
"""
import csv
import math
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn

CLIP, B, EPOCHS, LR = 0.75, 21, 6, 5e-3
W = 2


def table():
    with open(Path(__file__).with_name("data") / "wine.csv") as f:
        rows = [[float(v) for v in r] for r in list(csv.reader(f))[1:]]
    t = torch.tensor(rows)
    return t[:, :-1], t[:, -1:]


class ShardedAdamW:
    def __init__(self, params, rank, **kw):
        self.params = list(params)
        self.rank = rank
        # round robin by size, so that both ranks carry about the same
        order = sorted(range(len(self.params)), key=lambda i: -self.params[i].numel())
        self.owner = {i: k % W for k, i in enumerate(order)}
        self.own = [p for i, p in enumerate(self.params) if self.owner[i] == rank]
        self.inner = torch.optim.AdamW(self.own, **kw)

    def reduce(self):
        for i, p in enumerate(self.params):
            dist.reduce(p.grad, dst=self.owner[i])
            if self.owner[i] == self.rank:
                p.grad /= W
            else:
                p.grad = None                     # not ours, save the memory

    def clip(self, max_norm):
        sq = sum(p.grad.double().square().sum() for p in self.own)
        norm = math.sqrt(sq)
        if norm > max_norm:
            for p in self.own:
                p.grad.mul_(max_norm / norm)
        return norm

    def step(self):
        self.inner.step()
        for i, p in enumerate(self.params):
            dist.broadcast(p.data, src=self.owner[i])

    def clear(self):
        for p in self.params:
            p.grad = None


def train(rank):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "29641"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=W)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(7, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = ShardedAdamW(net.parameters(), rank, lr=LR, weight_decay=0.02)
    x, y = table()
    gen = torch.Generator().manual_seed(5)
    for ep in range(EPOCHS):
        total, norm = 0.0, 0.0
        for joint in torch.randperm(len(x), generator=gen).split(W * B):
            mine = joint[rank * B:(rank + 1) * B]
            loss = (net(x[mine]) - y[mine]).pow(2).mean()
            loss.backward()
            opt.reduce()
            norm = opt.clip(CLIP)
            opt.step()
            opt.clear()
            total += loss.item()
        if rank == 0:
            print(f"ep {ep} mse(rank0) {total / 10:.4f} last norm {norm:.3f}")
    if rank == 0:
        print("norm of weights %.6f" % torch.cat([p.detach().flatten() for p in net.parameters()]).norm())
    dist.destroy_process_group()


if __name__ == "__main__":
    ctx = mp.get_context("fork")
    crew = [ctx.Process(target=train, args=(r,)) for r in range(W)]
    for c in crew:
        c.start()
    for c in crew:
        c.join()
    raise SystemExit(max(c.exitcode for c in crew))
