accumulation_steps = 4
warmup_updates = 5
base = [group["lr"] for group in optimizer.param_groups]
update = 0

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            factor = min(1.0, (update + 1) / warmup_updates)
            for group, lr in zip(optimizer.param_groups, base):
                group["lr"] = lr * factor
            optimizer.step()
            optimizer.zero_grad()
            update += 1
