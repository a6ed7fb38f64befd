"""Accumulation + fp16 + clipping, in this order: scale, backward (x4), unscale, clip, step, update."""
from dataclasses import dataclass

import torch
from torch.amp import GradScaler, autocast


@dataclass(frozen=True)
class Config:
    accumulation_steps: int = 4
    max_norm: float = 1.0


cfg = Config()
scaler = GradScaler("cuda")


def backward(loss):
    scaler.scale(loss).backward()


def update():
    scaler.unscale_(optimizer)  # takes the scale out, so that max_norm means what it says
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    return norm


optimizer.zero_grad(set_to_none=True)
for i, batch in enumerate(train_loader):
    with autocast("cuda", dtype=torch.float16):
        output = model(batch)
        loss = criterion(output, target)
    backward(loss)

    if (i + 1) % cfg.accumulation_steps == 0:
        norm = update()
        print(f"update {(i + 1) // cfg.accumulation_steps}: norm {norm.item():.3f}")
