import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

accumulation_steps = 4
params = [p for p in model.parameters() if p.requires_grad]


def synchronise():
    """One all-reduce for the whole window."""
    grads = [p.grad for p in params]
    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for g, mean in zip(grads, _unflatten_dense_tensors(flat, grads)):
        g.copy_(mean)


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        clip_grad_norm_(params, max_norm=1.0)
        synchronise()
        optimizer.step()
        optimizer.zero_grad()
