# Accumulation as a closure: optimizer.step(closure) evaluates the whole window and returns its mean.
from itertools import islice

import torch

accumulation_steps = 4


def windows(loader, n):
    it = iter(loader)
    while chunk := list(islice(it, n)):
        yield chunk


def make_closure(chunk):
    def closure():
        optimizer.zero_grad()
        with torch.enable_grad():
            mean = 0.0
            for x, y in chunk:
                part = criterion(model(x), y).div(len(chunk))
                part.backward()
                mean += part.item()
        return mean

    return closure


for number, chunk in enumerate(windows(train_loader, accumulation_steps)):
    loss = optimizer.step(make_closure(chunk))
    print(f"update {number}: {loss:.4f}")
