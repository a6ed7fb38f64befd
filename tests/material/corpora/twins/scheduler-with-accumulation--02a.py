accumulation_steps = 4
updates = num_epochs * (-(-len(train_loader) // accumulation_steps))
total = num_epochs * len(train_loader)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor=0.05, total_iters=total)

for epoch in range(num_epochs):
    held = 0
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        held += 1
        if held == accumulation_steps or i + 1 == len(train_loader):
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            held = 0
