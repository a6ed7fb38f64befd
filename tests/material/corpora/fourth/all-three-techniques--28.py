"""Mixed precision, accumulation and clipping in one loop.

They go together. What was wrong: the clip saw gradients that carry the loss scale. Either take the
scale out first (unscale_) or put it into the threshold as well: ||S*g|| <= S*c is ||g|| <= c. I
use the second because it saves one pass over the gradients; scaler.step() takes the scale out later and
skips the update if it finds an infinity.
"""
import torch
from torch.amp import GradScaler, autocast

MAX_NORM = 1.0
accumulation_steps = 4

scaler = GradScaler("cuda", init_scale=2.0**16)
threshold = MAX_NORM * scaler.get_scale()  # in the units of the scaled gradients


def is_boundary(i):
    return (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader)


def window_size(i):
    start = i - i % accumulation_steps
    return min(accumulation_steps, len(train_loader) - start)


optimizer.zero_grad()
for i, batch in enumerate(train_loader):
    with autocast("cuda", dtype=torch.float16):
        output = model(batch)
        loss = criterion(output, target)

    # average over the micro-batches of one update, then loss scaling
    scaler.scale(loss / window_size(i)).backward()

    if is_boundary(i):
        torch.nn.utils.clip_grad_norm_(model.parameters(), threshold)
        scaler.step(optimizer)   # divides by the scale, steps unless something overflowed
        scaler.update()
        optimizer.zero_grad()
