# No scheduler object: the rate of every group is written before each step.
import torch

BASE = [group["lr"] for group in optimizer.param_groups]
WARMUP, EVERY = 4, 4


def set_rate(update):
    part = min(1.0, (update + 1) / WARMUP)
    for group, base in zip(optimizer.param_groups, BASE):
        group["lr"] = base * part


update = 0
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y)
        (loss / EVERY).backward()
        if (i + 1) % EVERY == 0:
            set_rate(update)
            optimizer.step()
            optimizer.zero_grad()
            update += 1
