# tones.npy, 3 ranks. Some recordings are clipped/broken (we poison a few below), they give
# nan losses. A rank with a nan batch contributes nothing to that update; the update is the
# mean over the ranks whose batch was good. If no rank has a good batch nothing happens.
from __future__ import annotations

import dataclasses
import os
import pathlib
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclasses.dataclass(frozen=True)
class Conf:
    world: int = 3
    port: int = 29637
    lr: float = 2e-3
    batch: int = 8
    epochs: int = 3
    max_norm: float = 1.0
    poison: tuple[int, ...] = (5, 40, 41, 77, 130, 199, 230, 301)


def dataset(conf: Conf) -> tuple[Tensor, Tensor]:
    root = pathlib.Path(__file__).resolve().parent / "data"
    x = torch.tensor(np.load(root / "tones.npy"))
    y = torch.tensor(np.load(root / "tones_y.npy"))
    x[list(conf.poison), 0] = float("nan")
    return x, y


def build() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 128)),
        nn.Conv1d(1, 12, 9, stride=4), nn.GELU(),
        nn.Conv1d(12, 24, 5, stride=2), nn.GELU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(96, 4))


def merged_grads(loss: Tensor, params: list[nn.Parameter]) -> list[Tensor] | None:
    """Gradient averaged over the good ranks, or None if there is no good rank."""
    good = loss.isfinite().float().reshape(1)
    if good.item():
        grads = list(torch.autograd.grad(loss, params))
    else:
        grads = [torch.zeros_like(p) for p in params]
    dist.all_reduce(good)
    if good.item() == 0:
        return None
    work = [dist.all_reduce(g, async_op=True) for g in grads]
    for w in work:
        w.wait()
    torch._foreach_div_(grads, good.item())
    return grads


def main(rank: int, conf: Conf) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(conf.port)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=conf.world)
    torch.manual_seed(11)                       # same weights on all ranks
    net = build()
    params = list(net.parameters())
    opt = torch.optim.SGD(params, lr=0.05, momentum=0.8)
    x, y = dataset(conf)
    per_rank = len(x) // conf.world
    for epoch in range(conf.epochs):
        perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        mine = perm[rank * per_rank:(rank + 1) * per_rank]
        skipped = 0
        for idx in mine.split(conf.batch):
            loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
            grads = merged_grads(loss, params)
            if grads is None:
                skipped += 1
                continue
            for p, g in zip(params, grads):
                p.grad = g
            nn.utils.clip_grad_norm_(params, conf.max_norm)
            opt.step()
        if rank == 0:
            ok = ~x.isnan().any(1)
            with torch.no_grad():
                full = nn.functional.cross_entropy(net(x[ok]), y[ok])
            print(f"epoch {epoch}: loss {full:.5f}, updates without any good rank: {skipped}")
    if rank == 0:
        print("sum of |w| = %.5f" % sum(p.detach().abs().sum() for p in params))
    dist.destroy_process_group()


if __name__ == "__main__":
    cfg = Conf(epochs=int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    torch.multiprocessing.start_processes(main, args=(cfg,), nprocs=cfg.world, start_method="fork")
