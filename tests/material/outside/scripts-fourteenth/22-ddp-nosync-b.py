import os
import socket
from contextlib import nullcontext
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler

ACCUM = 4


def dataset():
    g = torch.Generator().manual_seed(17)
    x = torch.randn(512, 6, generator=g)
    y = (x[:, :1] * 1.5 - x[:, 1:2] * x[:, 2:3]) + 0.1 * torch.randn(512, 1, generator=g)
    return TensorDataset(x, y)


def worker(rank, world, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(100)
    model = DDP(nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    ds = dataset()
    sampler = DistributedSampler(ds, num_replicas=world, rank=rank, shuffle=True)
    loader = DataLoader(ds, batch_size=16, sampler=sampler)
    loss_fn = nn.MSELoss()

    for epoch in range(3):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(1)
        opt.zero_grad()
        for i, (x, y) in enumerate(loader):
            sync = (i + 1) % ACCUM == 0
            with nullcontext() if sync else model.no_sync():
                loss = loss_fn(model(x), y)
                (loss / ACCUM).backward()
            total += loss.detach()
            if (i + 1) % ACCUM == 0:
                opt.step()
                opt.zero_grad()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {(total / world / len(loader)).item():.4f}", flush=True)
    norm = torch.cat([p.detach().flatten() for p in model.parameters()]).norm()
    print(f"rank {rank} weight norm {norm.item():.6f}", flush=True)
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    mp.start_processes(worker, args=(2, free_port()), nprocs=2, start_method="fork")
