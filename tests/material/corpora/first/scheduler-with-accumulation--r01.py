import math

import torch

accumulation_steps = 4
updates_per_epoch = math.ceil(len(train_loader) / accumulation_steps)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
    optimizer, T_max=num_epochs * updates_per_epoch
)


def optimizer_update():
    optimizer.step()
    scheduler.step()  # once per update, in the unit that T_max is counted in
    optimizer.zero_grad()


optimizer.zero_grad()
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        left = len(train_loader) - i // accumulation_steps * accumulation_steps
        loss = criterion(model(x), y) / min(accumulation_steps, left)
        loss.backward()

        if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
            optimizer_update()
