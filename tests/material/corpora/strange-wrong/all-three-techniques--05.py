"""fp16 autocast + accumulation + clipping."""

import torch
from torch.amp import GradScaler, autocast

accumulation_steps = 4
scaler = GradScaler("cuda")


def guard(grad: torch.Tensor) -> torch.Tensor:
    """Last line of defence against a single absurd element."""
    return grad.clamp(-1.0, 1.0)


for parameter in model.parameters():
    parameter.register_hook(guard)

optimizer.zero_grad()
for i, batch in enumerate(train_loader):
    with autocast("cuda", dtype=torch.float16):
        output = model(batch)
        loss = criterion(output, target) / accumulation_steps
    scaler.scale(loss).backward()

    if (i + 1) % accumulation_steps == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
