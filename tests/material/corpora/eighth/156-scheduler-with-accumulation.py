import torch

accumulation_steps = 4
num_updates = num_epochs * (len(train_loader) // accumulation_steps)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_updates)


def update():
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()


for epoch in range(num_epochs):
    pending = 0
    optimizer.zero_grad()
    for x, y in train_loader:
        (criterion(model(x), y) / accumulation_steps).backward()
        pending += 1
        if pending == accumulation_steps:
            update()
            pending = 0
