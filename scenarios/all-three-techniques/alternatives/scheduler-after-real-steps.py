# A schedule that moves with every update that really happened.
import torch
from torch.amp import GradScaler, autocast

accumulation_steps = 4
scaler = GradScaler("cuda", growth_interval=2000)
updates = (len(train_loader) + accumulation_steps - 1) // accumulation_steps
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=updates)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    tail = len(train_loader) % accumulation_steps
    divisor = accumulation_steps if i < len(train_loader) - tail else tail
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss / divisor).backward()

    if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scale_before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= scale_before:  # not skipped
            scheduler.step()
        optimizer.zero_grad()
