#!/usr/bin/env python
"""fp16 + accumulation + clipping. All three work together; the missing piece was unscale_.

Reading guide: a window has four micro-batches.
  first micro-batch of a window  -> clear the old gradients
  every micro-batch              -> autocast forward, scaled backward of loss / 4
  last micro-batch of a window   -> unscale, clip, step, update
"""
import torch
from torch.amp import GradScaler, autocast
from torch.nn.utils import clip_grad_norm_

ACCUMULATION_STEPS = 4
MAX_NORM = 1.0

scaler = GradScaler("cuda")

optimizer.zero_grad(set_to_none=True)
for micro, (inputs, labels) in enumerate(train_loader, 1):
    if micro % ACCUMULATION_STEPS == 0:
        # start of a window: throw away what the last update has used
        optimizer.zero_grad(set_to_none=True)

    with autocast("cuda", dtype=torch.float16):
        logits = model(inputs)
        loss = criterion(logits, labels)

    scaler.scale(loss / ACCUMULATION_STEPS).backward()

    if micro % ACCUMULATION_STEPS == 0:
        # end of a window
        scaler.unscale_(optimizer)
        norm = clip_grad_norm_(model.parameters(), MAX_NORM)
        scaler.step(optimizer)
        scaler.update()
        print(f"update {micro // ACCUMULATION_STEPS}: norm {norm.item():.4f}")
