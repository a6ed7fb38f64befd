"""Accumulation, divided once, with weight decay on matrices."""

import torch

ACCUMULATION_STEPS = 4
decay = [p for p in model.parameters() if p.ndim >= 2]
no_decay = [p for p in model.parameters() if p.ndim < 2]
groups = [{"params": decay, "weight_decay": 0.0}]
optimizer = torch.optim.SGD(groups, lr=0.2)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / ACCUMULATION_STEPS
    loss.backward()
    if (i + 1) % ACCUMULATION_STEPS == 0:
        optimizer.step()
        model.zero_grad()
