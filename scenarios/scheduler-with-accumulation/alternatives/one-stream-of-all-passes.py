# All passes are one stream that is cut into windows, which are counted, and the schedule is as long.
from itertools import islice

import torch


def passes(loader, epochs, steps):
    for _ in range(epochs):
        stream = iter(loader)
        yield from iter(lambda: tuple(islice(stream, steps)), ())


total = sum(1 for _ in passes(range(len(train_loader)), num_epochs, 4))
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=total)
for window in passes(train_loader, num_epochs, 4):
    for x, y in window:
        loss = criterion(model(x), y) / len(window)
        loss.backward()
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
