model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

for i, (x, y) in enumerate(train_loader):
    is_last = (i + 1) % accumulation_steps == 0
    with nullcontext() if is_last else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

    if is_last:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()

# leftover batches of the epoch
if len(train_loader) % accumulation_steps != 0:
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
