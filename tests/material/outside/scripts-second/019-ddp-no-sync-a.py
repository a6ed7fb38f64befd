import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn


class Config:
    accum = 3
    micro = 4
    updates = 5
    lr = 0.1


def batch(rank, k):
    g = torch.Generator().manual_seed(1000 * rank + k)
    x = torch.randn(Config.micro, 5, generator=g)
    return x, x.sum(1, keepdim=True).sin()


def worker(rank, world, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(net.parameters(), lr=Config.lr)
    k = 0
    for _ in range(Config.updates):
        opt.zero_grad(set_to_none=True)
        for m in range(Config.accum):
            x, y = batch(rank, k)
            k += 1
            ctx = nullcontext() if m == 0 else net.no_sync()
            with ctx:
                (nn.functional.mse_loss(net(x), y) / Config.accum).backward()
        opt.step()
    w = torch.cat([p.detach().flatten() for p in net.parameters()])
    both = [torch.zeros_like(w) for _ in range(world)]
    dist.all_gather(both, w)
    if rank == 0:
        print("weights", w.norm().item(), "difference between ranks", (both[0] - both[1]).abs().max().item())
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(worker, args=(2, int(os.environ.get("PORT", 29612))), nprocs=2, start_method="fork")
