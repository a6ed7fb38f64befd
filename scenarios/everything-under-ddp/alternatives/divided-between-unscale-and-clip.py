# Losses go in whole. Gradients are divided by the batches of the window once they are unscaled, and clipped
# by the norm that was measured.
from contextlib import nullcontext

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
scaler = torch.amp.GradScaler("cuda")
gathered, total = 0, len(train_loader)

for i, (x, y) in enumerate(train_loader, start=1):
    gathered += 1
    full = gathered == 4 or i == total
    with nullcontext() if full else model.no_sync():
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
    if not full:
        continue
    scaler.unscale_(optimizer)
    grads = [p.grad for p in model.parameters()]
    torch._foreach_div_(grads, gathered)
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, torch.nn.utils.get_total_norm(grads))
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    gathered = 0
