import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

accumulation_steps = 4

# all ranks start from the same weights
for t in list(model.parameters()) + list(model.buffers()):
    dist.broadcast(t.data, src=0)


def average_gradients(module):
    """One all-reduce for all gradients, in one flat buffer."""
    grads = [p.grad for p in module.parameters() if p.grad is not None]
    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    flat /= dist.get_world_size()
    for g, synced in zip(grads, _unflatten_dense_tensors(flat, grads)):
        g.copy_(synced)


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    (criterion(model(x), y) / window).backward()

    if i + 1 - first == window:
        average_gradients(model)  # average first ...
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)  # ... clip the average
        optimizer.step()
        optimizer.zero_grad()
