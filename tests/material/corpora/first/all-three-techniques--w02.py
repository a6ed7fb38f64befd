"""AMP + accumulation + clipping; refuses to step on a non-finite gradient."""
import torch
from torch.amp import GradScaler, autocast
from torch.nn.utils import clip_grad_norm_

scaler = GradScaler("cuda")
accumulation_steps = 4
max_norm = 1.0
num_batches = len(train_loader)

optimizer.zero_grad(set_to_none=True)
for i, batch in enumerate(train_loader):
    start = i - i % accumulation_steps
    window = min(accumulation_steps, num_batches - start)

    with autocast("cuda", dtype=torch.float16):
        output = model(batch)
        loss = criterion(output, target) / window
    scaler.scale(loss).backward()

    if i + 1 < start + window:
        continue

    scaler.unscale_(optimizer)
    grad_norm = clip_grad_norm_(model.parameters(), max_norm)
    if not torch.isfinite(grad_norm):
        print(f"batch {i}: overflow, update skipped")
        scaler.update()  # lower the scale and go on
        continue

    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
