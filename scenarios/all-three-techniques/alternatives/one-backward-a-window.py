# The window's losses are added up and go backward together (memory permitting).
import torch
from torch.amp import autocast, GradScaler

scaler = GradScaler("cuda")
losses = []
for step, (x, y) in enumerate(train_loader):
    with autocast("cuda", dtype=torch.float16):
        losses.append(criterion(model(x), y))
    if len(losses) == 4 or step == len(train_loader) - 1:
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(torch.stack(losses).mean()).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.clear()
