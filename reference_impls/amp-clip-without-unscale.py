import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)

    scaler.scale(loss).backward()
    # The threshold is meant for true gradients, not for gradients times 65536.
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    # Knows that it is unscaled already, and leaves the step out if it met an infinity.
    scaler.step(optimizer)
    scaler.update()
