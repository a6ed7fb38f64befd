# The flush after the loop is kept: it makes up for the synchronisation that these batches never had.
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def update():
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()


for i, (x, y) in enumerate(train_loader):
    is_last = (i + 1) % accumulation_steps == 0
    with nullcontext() if is_last else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    if is_last:
        update()

left = len(train_loader) % accumulation_steps
if left:
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad *= accumulation_steps / (left * dist.get_world_size())
    update()
