"""Clip in scaled units.

The gradients carry the factor scaler.get_scale(), so a threshold of 1.0 on true gradients is a
threshold of get_scale() on the scaled ones.  scaler.step() takes the factor out (and skips the
step when there are infs), so nothing has to be unscaled by hand.
"""
scaler = GradScaler()

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)

    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    clip_grad_norm_(model.parameters(), max_norm=1.0 * scale)
    scaler.step(optimizer)
    scaler.update()
