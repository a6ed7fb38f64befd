# Every sample of the window weighs the same: a mean over the window, whatever the batch sizes.
import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")
accumulation_steps = 4


def batched(iterable, n):  # itertools.batched, for Python before 3.12
    bucket = []
    for item in iterable:
        bucket.append(item)
        if len(bucket) == n:
            yield tuple(bucket)
            bucket = []
    if bucket:
        yield tuple(bucket)


for micro_batches in batched(train_loader, accumulation_steps):
    samples = sum(len(x) for x, _ in micro_batches)
    for x, y in micro_batches:
        with autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) * (len(x) / samples)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
