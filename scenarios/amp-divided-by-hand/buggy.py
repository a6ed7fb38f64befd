scaler = GradScaler()

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    for p in model.parameters():
        p.grad /= scaler.get_scale()
    norm = clip_grad_norm_(model.parameters(), max_norm=1.0)
    print(f"norm {norm:.2f}")

    scaler.step(optimizer)
    scaler.update()
