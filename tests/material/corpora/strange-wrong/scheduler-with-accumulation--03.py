"""Cosine schedule over updates."""

import torch

STEPS = 4
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs * (len(train_loader) // STEPS))
updates = 0

optimizer.zero_grad()
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / STEPS).backward()
        if (i + 1) % STEPS == 0:
            optimizer.step()
            scheduler.step()
            updates += 1
            if updates % 2 == 0:  # memory is reused in between
                optimizer.zero_grad(set_to_none=True)
