"""Accumulation over four micro-batches, cleared after each update."""

ACCUMULATION_STEPS = 4


def clear(optimizer) -> int:
    """Drop the gradients of everything that the optimizer holds. Returns how many there were."""
    held = [p for p in optimizer.state if p.grad is not None]
    for p in held:
        p.grad = None
    return len(held)


for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / ACCUMULATION_STEPS
    loss.backward()
    if (i + 1) % ACCUMULATION_STEPS == 0:
        optimizer.step()
        clear(optimizer)
