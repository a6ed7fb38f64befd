scaler = GradScaler()

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
