# Why 0.8 instead of 1.0: each rank shortens its own gradient to 1 and then you take the mean of vectors that point to
# different directions; the mean is shorter. And the factors differ between ranks, so the direction is off too. Right order: reduce,
# then clip ONE gradient with ONE factor. Ranks agreeing to the last bit is true in both cases.
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def clip_across_ranks(max_norm):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = get_total_norm(grads)
    # one factor for all: a rank that rounds differently must not take a different one
    dist.all_reduce(norm, op=dist.ReduceOp.SUM)
    clip_grads_with_norm_(model.parameters(), max_norm, norm)
    return norm


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    last = i + 1 == first + window

    # all but the last backward stay local; the last one averages over ranks
    with nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / window
        loss.backward()

    if last:
        clip_across_ranks(1.0)
        optimizer.step()
        optimizer.zero_grad()
