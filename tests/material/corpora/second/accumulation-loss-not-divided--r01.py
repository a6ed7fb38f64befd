"""lr / 4 is not the repair. backward() adds, so four undivided mean losses give 4x the gradient of the
large batch. Plain SGD lets you hide that in the rate; Adam, weight decay and clipping do not.

Here the window is evaluated in a closure, and every sample counts the same: loss.sum / window size.
"""
from itertools import islice

accumulation_steps = 4


def make_closure(window):
    total = sum(len(x) for x, _ in window)

    def closure():
        optimizer.zero_grad()
        running = 0.0
        for x, y in window:
            loss = criterion(model(x), y) * (len(x) / total)  # mean -> share of the window's mean
            loss.backward()
            running += loss.item()
        return running

    return closure


stream = iter(train_loader)
while window := list(islice(stream, accumulation_steps)):
    window_loss = optimizer.step(make_closure(window))
    print(f"loss over {sum(len(x) for x, _ in window)} samples: {window_loss:.4f}")
