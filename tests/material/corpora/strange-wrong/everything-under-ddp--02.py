"""DDP + fp16 + accumulation + clipping."""

from contextlib import nullcontext

import torch
from torch.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
scaler = GradScaler("cuda")
accumulation_steps = 4


def report_and_clip(i: int) -> None:
    """All ranks hold the same gradient by now; one of them reports its norm."""
    if local_rank != 0:
        return
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    print(f"micro-batch {i}: norm {norm:.3f}")


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    is_last = (i + 1) % accumulation_steps == 0
    with nullcontext() if is_last else model.no_sync():
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / accumulation_steps
        scaler.scale(loss).backward()
    if is_last:
        report_and_clip(i)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
