# Windows are lists cut off an iterator; the last one is as long as what is left.
from itertools import islice

import torch
from torch.amp import GradScaler, autocast


def windows(loader, size):
    stream = iter(loader)
    while chunk := list(islice(stream, size)):
        yield chunk


scaler = GradScaler()
for window in windows(train_loader, 4):
    optimizer.zero_grad()
    for x, y in window:
        with autocast("cuda", torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss / len(window)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
