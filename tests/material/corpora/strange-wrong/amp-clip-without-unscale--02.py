"""fp16 with clipping at 1.0."""

import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")
unscaled = False

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    # unscale_ must not be called twice, torch raises otherwise
    if not unscaled:
        scaler.unscale_(optimizer)
        unscaled = True

    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
