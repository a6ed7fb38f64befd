"""Keep the old learning rate. The accumulated gradient has to be the mean over the window, not the sum."""
from functools import partial

accumulation_steps = 4


def window_loss(window):
    optimizer.zero_grad()
    total = 0.0
    for x, y in window:
        part = criterion(model(x), y) / len(window)
        part.backward()
        total += part.detach()
    return total


def chunks(loader, size):
    box = []
    for item in loader:
        box.append(item)
        if len(box) == size:
            yield box
            box = []
    if box:
        yield box


for window in chunks(train_loader, accumulation_steps):
    loss = optimizer.step(partial(window_loss, window))
    print(f"loss {float(loss):.4f} over {len(window)} micro-batches")
