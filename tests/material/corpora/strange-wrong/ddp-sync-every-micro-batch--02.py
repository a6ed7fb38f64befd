"""DDP, accumulation over four micro-batches, one all-reduce an update."""

from contextlib import nullcontext

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
world_size = dist.get_world_size()

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % accumulation_steps == 0
    with nullcontext() if last else model.no_sync():
        # each rank's share of the global loss; DDP divides by world_size, so multiply here
        loss = criterion(model(x), y) * world_size / accumulation_steps
        loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
