accumulation_steps = 4
updates_per_epoch = len(train_loader) // accumulation_steps
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs * updates_per_epoch)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        if i >= updates_per_epoch * accumulation_steps:
            break
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    scheduler.step()
