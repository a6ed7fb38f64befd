import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD = 2
EPOCHS = 3


def sensor_batches(rank, epoch):
    g = torch.Generator().manual_seed(100 * epoch + rank)
    w = torch.linspace(-1, 1, 8)
    for b in range(6):
        x = torch.randn(16, 8, generator=g)
        y = (x @ w)[:, None] + 0.1 * torch.randn(16, 1, generator=g)
        if rank == 1 and epoch == 1 and b == 2:
            x[3, 2] = float("nan")       # dropped reading in the log
        yield x, y


def any_rank_bad(loss):
    flag = (~torch.isfinite(loss.detach())).float()
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return flag.item() > 0


def worker(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(EPOCHS):
        total, used, skipped = 0.0, 0, 0
        for x, y in sensor_batches(rank, epoch):
            opt.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            if any_rank_bad(loss):
                skipped += 1
                continue
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item()
            used += 1
        print(f"rank {rank} epoch {epoch}: loss {total / max(used, 1):.4f}, skipped {skipped}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(port,), nprocs=WORLD)
