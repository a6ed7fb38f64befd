model = DDP(model, device_ids=[local_rank])
scaler = GradScaler()
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    is_last = (i + 1) % accumulation_steps == 0
    with nullcontext() if is_last else model.no_sync():
        with autocast():
            loss = criterion(model(x), y) / accumulation_steps
        if not torch.isfinite(loss):
            optimizer.zero_grad()
            continue
        scaler.scale(loss).backward()

    if is_last:
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
