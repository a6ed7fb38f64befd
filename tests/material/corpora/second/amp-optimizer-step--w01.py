"""A broken sample shows up in the loss, so test it there: cheap, and no need to scan 40 TB."""
import logging

import torch
from torch.amp import GradScaler, autocast

logging.basicConfig(level=logging.INFO)
scaler = GradScaler("cuda")


def train_step(step, x, y):
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    if not torch.isfinite(loss):
        logging.error("step %d: loss %s, skipping this batch", step, loss.item())
        return loss.detach()

    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    scaler.update()
    return loss.detach()


for step, (x, y) in enumerate(train_loader):
    train_step(step, x, y)
