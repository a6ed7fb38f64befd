"""Warm-up from a table, so that the reviewer can read the rates off."""
import torch

accumulation_steps = 4
warmup_updates = 5
table = torch.linspace(0.0, 1.0, steps=warmup_updates).tolist()


def factor(update: int) -> float:
    return table[update] if update < len(table) else 1.0


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
