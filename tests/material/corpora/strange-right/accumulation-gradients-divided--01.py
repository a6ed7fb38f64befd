"""Accumulation that keeps the logged loss readable and divides p.grad exactly once per update."""
import logging

import torch

log = logging.getLogger(__name__)
ACCUM = 4

pending = 0
running = 0.0
optimizer.zero_grad()
n = len(train_loader)
for step, (x, y) in enumerate(train_loader, 1):
    loss = criterion(model(x), y)
    loss.backward()
    pending += 1
    running += float(loss.detach())

    if pending < ACCUM and step < n:
        continue

    # p.grad holds the SUM over `pending` micro-batches at this point: average it now, once
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    with torch.no_grad():
        torch._foreach_div_(grads, float(pending))
    optimizer.step()
    optimizer.zero_grad()
    log.info("update after batch %d: mean loss %.4f", step, running / pending)
    pending, running = 0, 0.0
