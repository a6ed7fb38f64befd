"""DDP averages over the ranks already: no division by world_size. Order: divide by the window, scale,
backward (local until the last), unscale, clip, step, update."""
from contextlib import nullcontext

import torch
from torch.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
scaler = GradScaler("cuda")
accumulation_steps = 4


def forward_loss(x, y, window):
    with autocast("cuda", dtype=torch.float16):
        return criterion(model(x), y) / window


def backward(loss, sync):
    with nullcontext() if sync else model.no_sync():
        scaler.scale(loss).backward()


def update():
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    last = i + 1 == first + window
    backward(forward_loss(x, y, window), sync=last)
    if last:
        update()
