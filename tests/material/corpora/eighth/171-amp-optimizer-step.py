"""Skips updates that overflowed, with a line in the log for each of them."""
import math

scaler = GradScaler()
skipped: list[int] = []


def overflowed(norm) -> bool:
    """fp16 overflow shows as an infinite gradient norm."""
    return math.isinf(norm.item())


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)

    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = clip_grad_norm_(model.parameters(), max_norm=1.0)
    if overflowed(norm):
        skipped.append(step)
        print(f"step {step}: overflow, update skipped, scale {scaler.get_scale():.0f}")
    else:
        optimizer.step()
    scaler.update()
