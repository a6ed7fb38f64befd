# The schedule counts updates, so it moves in the same branch as optimizer.step().
accumulation_steps = 4
num_batches = len(train_loader)
updates_per_epoch = -(-num_batches // accumulation_steps)  # ceil
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
    optimizer, T_max=num_epochs * updates_per_epoch
)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        remaining = num_batches - (i // accumulation_steps) * accumulation_steps
        loss = criterion(model(x), y) / min(accumulation_steps, remaining)
        loss.backward()

        if (i + 1) % accumulation_steps == 0 or i + 1 == num_batches:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
