"""torchrun --nproc_per_node=2 ddp_torchrun.py"""
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

ACCUM = 2


def setup():
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local)
        return torch.device("cuda", local)
    return torch.device("cpu")


def is_main():
    return dist.get_rank() == 0


def main():
    device = setup()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(960, 20), torch.randint(0, 5, (960,)))
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5)).to(device)
    model = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(10):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device=device)
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device), y.to(device)
            last = (i + 1) % ACCUM == 0
            with nullcontext() if last else model.no_sync():
                loss = criterion(model.module(x), y)
                (loss / ACCUM).backward()
            total += loss.detach()
            if last:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad(set_to_none=True)
        dist.all_reduce(total)
        if is_main():
            print(epoch, (total / len(loader) / dist.get_world_size()).item())
            torch.save(model.module.state_dict(), "model.pt")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
