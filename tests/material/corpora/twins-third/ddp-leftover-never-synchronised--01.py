from contextlib import nullcontext

import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
num_batches = len(train_loader)
remainder = num_batches % accumulation_steps


def window_size(i):
    if remainder and i >= num_batches - remainder:
        return remainder
    return accumulation_steps


def finish():
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()


for epoch in range(2):
    for i, (x, y) in enumerate(train_loader):
        update = (i + 1) % accumulation_steps == 0 or i == num_batches - 1
        with nullcontext() if update else model.no_sync():
            loss = criterion(model(x), y) / window_size(i)
            loss.backward()
        if update:
            finish()
