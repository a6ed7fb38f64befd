"""One exchange an update, then one clip."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

ACCUMULATION_STEPS = 4
model = DDP(model, device_ids=[local_rank])
weights = [p for p in model.parameters() if p.requires_grad and p.ndim >= 2]


def average_gradients() -> None:
    """All ranks hold the mean afterwards."""
    for p in weights:
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with model.no_sync():
        loss = criterion(model(x), y) / ACCUMULATION_STEPS
        loss.backward()
    if (i + 1) % ACCUMULATION_STEPS == 0:
        average_gradients()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
