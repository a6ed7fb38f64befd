"""One collective per update: gradients stay local for a window, then one flat all-reduce."""
import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

accumulation_steps = 4
ddp = DDP(model, device_ids=[local_rank])   # takes care of equal initial weights
world = dist.get_world_size()
params = [p for p in ddp.parameters() if p.requires_grad]


def average_over_ranks():
    grads = [p.grad for p in params]
    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat)
    flat /= world
    for g, averaged in zip(grads, _unflatten_dense_tensors(flat, grads)):
        g.copy_(averaged)


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with ddp.no_sync():
        loss = criterion(ddp(x), y) / accumulation_steps
        loss.backward()

    if (i + 1) % accumulation_steps == 0:
        average_over_ranks()
        optimizer.step()
        optimizer.zero_grad()
