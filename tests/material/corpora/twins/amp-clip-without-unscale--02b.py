scaler = GradScaler()

optimizer.zero_grad()
for step, (x, y) in enumerate(train_loader):
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    if not torch.isfinite(norm):
        print(f"step {step}: overflow, scale {scaler.get_scale():.0f}")
        scaler.update()
        continue
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
