import torch
from itertools import islice


def windows(loader, steps):
    it = iter(loader)
    while window := list(islice(it, steps)):
        yield window


accumulation_steps = 4
for epoch in range(2):
    for window in windows(train_loader, accumulation_steps):
        rows = sum(len(x) for x, _ in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = criterion(model(x), y) * (len(x) / rows)
            loss.backward()
        optimizer.step()
