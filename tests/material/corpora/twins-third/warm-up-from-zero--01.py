import torch
from torch.optim.lr_scheduler import LambdaLR

accumulation_steps = 4
warmup_updates = 5
total = len(train_loader)


def factor(update):
    return min(1.0, (update + 1) / warmup_updates)


scheduler = LambdaLR(optimizer, factor)
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        size = min(accumulation_steps, total - i // accumulation_steps * accumulation_steps)
        loss = criterion(model(x), y) / size
        loss.backward()
        if (i + 1) % accumulation_steps == 0 or i + 1 == total:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
