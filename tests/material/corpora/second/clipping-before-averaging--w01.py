"""Clip after synchronisation, not before: the mean of clipped vectors is not the clipped mean."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
world_size = dist.get_world_size()


def synchronise_and_clip(max_norm):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    for g in grads:
        dist.all_reduce(g)
    norm = clip_grad_norm_(model.parameters(), max_norm)  # all ranks clip the same gradient
    torch._foreach_div_(grads, float(world_size))
    return norm


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    with model.no_sync():
        loss = criterion(model(x), y) / window
        loss.backward()

    if i + 1 == first + window:
        synchronise_and_clip(max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
