"""Clip while the gradients are scaled, against a threshold that is scaled as well."""
scaler = GradScaler()
MAX_NORM = 1.0

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    scale = scaler.get_scale()
    norm = clip_grad_norm_(model.parameters(), max_norm=MAX_NORM * scale) / scale
    print(f"norm {norm:.2f}")

    scaler.step(optimizer)  # takes the scale out, once
    scaler.update()
