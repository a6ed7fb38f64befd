# no_sync for every micro-batch, and one all-reduce of all gradients in one buffer before the step.
import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
world = dist.get_world_size()


def average_gradients():
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat)
    flat /= world
    for grad, mean in zip(grads, _unflatten_dense_tensors(flat, grads)):
        grad.copy_(mean)


total = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    in_window = min(accumulation_steps, total - i // accumulation_steps * accumulation_steps)
    with model.no_sync():
        (criterion(model(x), y) / in_window).backward()

    if (i + 1) % accumulation_steps == 0 or i + 1 == total:
        average_gradients()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
