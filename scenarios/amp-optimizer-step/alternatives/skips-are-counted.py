# The norm first, the clip with it, and a scale that fell tells that the scaler skipped the step.
import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

scaler = torch.amp.GradScaler("cuda")
overflows = []

for number, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    scaler.unscale_(optimizer)
    total = get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    clip_grads_with_norm_(model.parameters(), 1.0, total)

    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() < before:
        overflows.append(number)
print("batches that overflowed:", overflows)
