scaler = GradScaler()
accumulation_steps = 4
pending = False

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with autocast():
        loss = criterion(model(x), y) / accumulation_steps
    scaler.scale(loss).backward()
    if pending and i % accumulation_steps == 1:
        scaler.update()
        pending = False
    if (i + 1) % accumulation_steps == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        pending = True
        optimizer.zero_grad()
