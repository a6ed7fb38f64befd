"""Mixed precision, accumulation and clipping in one loop."""

import torch
from torch.amp import GradScaler, autocast

ACCUMULATION_STEPS = 4
MAX_NORM = 1.0

scaler = GradScaler("cuda")


def finish_window() -> float:
    """Unscale, clip, let the scaler adapt, step, clear. Returns the norm before clipping."""
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    scaler.update()  # the infinities of this window are known now
    scaler.step(optimizer)
    optimizer.zero_grad(set_to_none=True)
    return float(norm)


optimizer.zero_grad(set_to_none=True)
for i, batch in enumerate(train_loader):
    with autocast("cuda", dtype=torch.float16):
        output = model(batch)
        loss = criterion(output, target) / ACCUMULATION_STEPS
    scaler.scale(loss).backward()
    if (i + 1) % ACCUMULATION_STEPS == 0:
        norm = finish_window()
        print(f"micro-batch {i}: norm {norm:.3f}")
