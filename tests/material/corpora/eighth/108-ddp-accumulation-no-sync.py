from contextlib import nullcontext

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def micro_batches(loader, steps):
    """Yields (synchronise, step, batch)."""
    for i, batch in enumerate(loader):
        yield i % steps == 0, (i + 1) % steps == 0, batch


for synchronise, step, (x, y) in micro_batches(train_loader, accumulation_steps):
    with nullcontext() if synchronise else model.no_sync():
        loss = criterion(model(x), y)
        (loss / accumulation_steps).backward()

    if step:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
