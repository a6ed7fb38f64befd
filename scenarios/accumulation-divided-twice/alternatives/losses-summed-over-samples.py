# Each loss is a sum over its samples, and the gradients are divided once, by all samples of the window.
import torch

accumulation_steps = 4
seen = 0

for i, (x, y) in enumerate(train_loader, start=1):
    total_loss = criterion(model(x), y) * y.shape[0]
    total_loss.backward()
    seen += y.shape[0]

    if i % accumulation_steps == 0 or i == len(train_loader):
        with torch.no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    p.grad.mul_(1.0 / seen)
        optimizer.step()
        optimizer.zero_grad()
        seen = 0
