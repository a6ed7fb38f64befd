# The model's class stays: its forward is replaced by one that recomputes the first layers.
import functools

import torch
from torch.utils.checkpoint import checkpoint

recompute = functools.partial(checkpoint, use_reentrant=False, preserve_rng_state=False)


def forward(x):
    for layer in model[:4]:
        x = recompute(layer, x)
    return model[4:](x)


model.forward = forward


def train_window(window):
    for x, y in window:
        loss = criterion(model(x), y) / len(window)
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


window = []
for i, batch in enumerate(train_loader, start=1):
    window.append(batch)
    if len(window) == 4 or i == len(train_loader):
        train_window(window)
        window.clear()
