import torch

accumulation_steps = 4
params = [p for group in optimizer.param_groups for p in group["params"]]

for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        torch._foreach_zero_([p.grad for p in params if p.grad is not None])
