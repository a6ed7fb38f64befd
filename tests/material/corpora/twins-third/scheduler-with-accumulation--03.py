import torch

accumulation_steps = 4
warmup = 2
updates_per_epoch = -(-len(train_loader) // accumulation_steps)
total_updates = num_epochs * updates_per_epoch
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=optimizer.param_groups[0]["lr"], total_steps=total_updates + 1, cycle_momentum=False
)

done = 0
for epoch in range(num_epochs):
    buffer = []
    for i, batch in enumerate(train_loader):
        buffer.append(batch)
        if len(buffer) < accumulation_steps and i + 1 < len(train_loader):
            continue
        optimizer.zero_grad()
        for x, y in buffer:
            (criterion(model(x), y) / len(buffer)).backward()
        optimizer.step()
        scheduler.step()
        done += 1
        buffer = []
print(f"{done} of {total_updates} updates")
