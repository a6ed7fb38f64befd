"""Two-process DDP on CPU (gloo); in production started with torchrun."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def run(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29611")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = x @ torch.randn(6, 1)
    ds = TensorDataset(x, y)
    sampler = DistributedSampler(ds, num_replicas=world, rank=rank, shuffle=True)
    loader = DataLoader(ds, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for xb, yb in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
    total = torch.tensor([loss.item()])
    dist.all_reduce(total)
    norm = model.module.weight.norm().item()
    if rank == 0:
        print(f"mean loss {total.item() / world:.5f} |w| {norm:.5f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(run, args=(2,), nprocs=2, start_method="fork")
