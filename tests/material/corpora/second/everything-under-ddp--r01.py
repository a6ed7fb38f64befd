"""DDP *averages* over ranks. Dividing by world_size once more makes the gradient 8x too small on 8 GPUs,
so drop that division and keep the learning rate. Order: divide by the window, scale, synchronise in the
window's last backward, unscale, clip, step, update."""
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_


class Slot(NamedTuple):
    size: int
    last: bool


def slots(num_batches, steps):
    for begin in range(0, num_batches, steps):
        size = min(steps, num_batches - begin)
        for k in range(size):
            yield Slot(size, k == size - 1)


model = DDP(model, device_ids=[local_rank])
scaler = GradScaler("cuda")
accumulation_steps = 4


def micro_step(x, y, slot):
    with nullcontext() if slot.last else model.no_sync():
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / slot.size
        scaler.scale(loss).backward()


def update():
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)


optimizer.zero_grad(set_to_none=True)
for (x, y), slot in zip(train_loader, slots(len(train_loader), accumulation_steps)):
    micro_step(x, y, slot)
    if slot.last:
        update()
