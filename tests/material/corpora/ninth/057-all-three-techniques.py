import torch
from torch.nn.utils import clip_grad_norm_

device_type = "cuda" if torch.cuda.is_available() else "cpu"
accumulation_steps = 4
scaler = torch.amp.GradScaler(device_type)


def micro_step(x, y):
    with torch.amp.autocast(device_type):
        loss = criterion(model(x), y)
    scaler.scale(loss / accumulation_steps).backward()
    return loss.detach()


def update():
    scaler.unscale_(optimizer)
    norm = clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    return norm


optimizer.zero_grad(set_to_none=True)
pending = 0
for x, y in train_loader:
    micro_step(x, y)
    pending += 1
    if pending == accumulation_steps:
        update()
        pending = 0
