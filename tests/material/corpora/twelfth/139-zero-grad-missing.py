"""No schedule needed: gradients were never cleared. Cleared here with one fused call per update."""
import torch

accumulation_steps = 4
parameters = list(model.parameters())
gradients = [p.grad for p in parameters if p.grad is not None]


def clear():
    if gradients:
        torch._foreach_zero_(gradients)


clear()
total = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    width = min(accumulation_steps, total - i // accumulation_steps * accumulation_steps)
    loss = criterion(model(x), y) / width
    loss.backward()
    if i % accumulation_steps == width - 1:
        optimizer.step()
        clear()
