import torch

accumulation_steps = 4
num_updates = num_epochs * (len(train_loader) // accumulation_steps)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_updates)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    # behind the loop: micro-batches no longer move the schedule
    scheduler.step()
