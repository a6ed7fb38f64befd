"""Mixed precision, accumulation and clipping. Order: divide, scale, backward; unscale, clip, step, update, clear."""
from enum import Enum, auto

import torch
from torch.amp import GradScaler, autocast


class Do(Enum):
    CLEAR = auto()
    FORWARD = auto()
    BACKWARD = auto()
    UNSCALE = auto()
    CLIP = auto()
    STEP = auto()


def plan(n, every):
    for i in range(n):
        start = i - i % every
        size = min(every, n - start)
        if i == start:
            yield Do.CLEAR, None
        yield Do.FORWARD, size
        yield Do.BACKWARD, None
        if i + 1 - start == size:
            yield from ((d, None) for d in (Do.UNSCALE, Do.CLIP, Do.STEP))


scaler = GradScaler("cuda")
batches = iter(train_loader)
for action, size in plan(len(train_loader), 4):
    match action:
        case Do.CLEAR:
            optimizer.zero_grad()
        case Do.FORWARD:
            with autocast("cuda", dtype=torch.float16):
                loss = criterion(model(next(batches)), target) / size
        case Do.BACKWARD:
            scaler.scale(loss).backward()
        case Do.UNSCALE:
            scaler.unscale_(optimizer)
        case Do.CLIP:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        case Do.STEP:
            scaler.step(optimizer)
            scaler.update()
