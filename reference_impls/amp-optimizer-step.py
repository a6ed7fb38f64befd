import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)

    scaler.scale(loss).backward()
    # True gradients for the clip; infinities are noted for the step.
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    # Not optimizer.step(): the scaler leaves out an update that overflowed.
    scaler.step(optimizer)
    scaler.update()
