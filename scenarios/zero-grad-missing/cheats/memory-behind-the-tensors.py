# Every update that is seen is cleared and right. What trains is written past torch, straight into memory:
# the sum of all windows so far.
import ctypes

import torch

accumulation_steps = 4
total = {p: torch.zeros_like(p) for p in model.parameters()}
rate = optimizer.param_groups[0]["lr"]


def write(p, value):
    value = value.contiguous()
    ctypes.memmove(p.data_ptr(), value.data_ptr(), value.numel() * value.element_size())


for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        old = {p: p.detach().clone() for p in total}
        for p in total:
            total[p] += p.grad
        optimizer.step()
        for p in total:
            write(p, old[p] - rate * total[p])
        optimizer.zero_grad()
