import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)

    scaler.scale(loss).backward()
    # The scaler's own division: it remembers it, and step will not repeat it.
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    # Steps unless an infinity was found, then adapts the scale.
    scaler.step(optimizer)
    scaler.update()
