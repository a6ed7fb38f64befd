import os
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group('gloo')
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
x = torch.randn(1024, 8)
ds = TensorDataset(x, x.sum(1, keepdim=True))
sampler = DistributedSampler(ds)
dl = DataLoader(ds, 16, sampler=sampler)
net = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
opt = torch.optim.SGD(net.parameters(), 0.05)
accum = 4

for ep in range(3):
    sampler.set_epoch(ep)
    opt.zero_grad()
    for i, (a, b) in enumerate(dl):
        with net.no_sync():
            loss = nn.functional.mse_loss(net(a), b) / accum
            loss.backward()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()
    w = next(net.parameters()).sum().item()
    print(f'rank {rank} epoch {ep} checksum {w:.6f}')
dist.destroy_process_group()
