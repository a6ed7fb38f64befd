"""Leftover batches: the last batch of the epoch closes the window, so it must synchronise."""
from contextlib import nullcontext

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
num_batches = len(train_loader)
leftover = num_batches % accumulation_steps

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    in_leftover = i >= num_batches - leftover
    divisor = leftover if in_leftover else accumulation_steps
    is_last = (i + 1) % accumulation_steps == 0 or i + 1 == num_batches

    with nullcontext() if is_last else model.no_sync():
        loss = criterion(model(x), y) / divisor
        loss.backward()

    if is_last:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
