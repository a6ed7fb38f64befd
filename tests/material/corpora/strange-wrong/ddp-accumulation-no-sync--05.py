"""DDP with accumulation: one all-reduce where one is needed."""

from contextlib import nullcontext

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

ACCUMULATION_STEPS = 4

model = DDP(model, device_ids=[local_rank])
num_batches = len(train_loader)


def is_final(i: int) -> bool:
    """Whether gradients have to leave this rank after micro-batch i."""
    return i + 1 == num_batches


optimizer.zero_grad(set_to_none=True)
for i, batch in enumerate(train_loader):
    with nullcontext() if is_final(i) else model.no_sync():
        output = model(batch)
        loss = criterion(output, target) / ACCUMULATION_STEPS
        loss.backward()
    if (i + 1) % ACCUMULATION_STEPS == 0 or is_final(i):
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
