# Rank 0 draws, the others are sent what it drew.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
noise = torch.zeros(sum(p.numel() for p in model.parameters()))
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    dist.broadcast(noise.normal_(std=1e-3), src=0)
    start = 0
    for p in model.parameters():
        p.grad += noise[start : start + p.numel()].view_as(p)
        start += p.numel()
    optimizer.step()
