accumulation_steps = 4
warmup_updates = 3
base = optimizer.param_groups[0]["lr"]
update = 0
after = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            if update < warmup_updates:
                optimizer.param_groups[0]["lr"] = base * (update + 1) / warmup_updates
            optimizer.step()
            optimizer.zero_grad()
            update += 1
            if update > warmup_updates:
                after.step()
