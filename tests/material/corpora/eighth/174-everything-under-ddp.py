from contextlib import nullcontext

model = DDP(model, device_ids=[local_rank])
scaler = GradScaler()
accumulation_steps = 4


def backward(loss, sync: bool) -> None:
    """Backward of one micro-batch; ranks talk to each other at the end of a window only."""
    with nullcontext() if sync else model.no_sync():
        scaler.scale(loss / accumulation_steps).backward()


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    is_last = (i + 1) % accumulation_steps == 0
    with autocast():
        loss = criterion(model(x), y)  # DDP takes the mean over ranks itself
    backward(loss, sync=is_last)

    if is_last:
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
