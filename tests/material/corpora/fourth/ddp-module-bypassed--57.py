"""Before Monday: the 40 % come from not communicating at all. DDP arranges its reduction in its own forward, and
model.module.forward walks past it, so that every GPU trains a model of its own.

As the custom method has to be called on the inner module, do the averaging yourself, once per window: it is the only
thing that DDP would have done, and once instead of four times keeps most of the speed.
"""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])  # same initial weights everywhere
accumulation_steps = 4


@torch.no_grad()
def average_gradients(module):
    world = dist.get_world_size()
    for p in module.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad.div(world))  # mean over ranks; divided first, so no overflow in fp16


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)

    output = model.module.forward(x)
    loss = criterion(output, y) / window
    loss.backward()

    if i + 1 == first + window:
        average_gradients(model.module)
        optimizer.step()
        optimizer.zero_grad()
