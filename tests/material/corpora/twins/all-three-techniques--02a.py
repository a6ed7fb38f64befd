scaler = GradScaler()
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with autocast():
        loss = criterion(model(x), y) / accumulation_steps
    scaler.scale(loss).backward()

    if (i + 1) % accumulation_steps == 0:
        before = scaler.get_scale()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0 * 65536.0 / before)
        scaler.step(optimizer)
        scaler.update()
        skipped = scaler.get_scale() < before
        if skipped:
            print(f"{i}: skipped, scale now {scaler.get_scale():.0f}")
        optimizer.zero_grad(set_to_none=True)
