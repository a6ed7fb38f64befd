import torch

accumulation_steps = 4
losses = []

for i, (x, y) in enumerate(train_loader):
    losses.append(criterion(model(x), y))
    if len(losses) == accumulation_steps or i == len(train_loader) - 1:
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        optimizer.step()
        losses = []
