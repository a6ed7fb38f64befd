# One batch is read ahead, so the last one is known as such; gradients are divided at the end, clipped
# by the two functions that clip_grad_norm_ is made of.
from contextlib import nullcontext

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
source = iter(train_loader)
batch, held = next(source), 0
while batch is not None:
    (x, y), batch = batch, next(source, None)
    held += 1
    full = held == 4 or batch is None
    with nullcontext() if full else model.no_sync():
        criterion(model(x), y).backward()
    if full:
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        torch._foreach_div_(grads, held)
        norm = torch.nn.utils.get_total_norm(grads)
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, norm)
        optimizer.step()
        optimizer.zero_grad()
        held = 0
