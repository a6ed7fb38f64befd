accumulation_steps = 4
warmup_updates = 5
base_rates = [group["lr"] for group in optimizer.param_groups]
updates_done = 0

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader, start=1):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

        if i % accumulation_steps:
            continue
        factor = min(1.0, (updates_done + 1) / warmup_updates)  # this update's own number, from 1
        for group, base in zip(optimizer.param_groups, base_rates):
            group["lr"] = base * factor
        optimizer.step()
        optimizer.zero_grad()
        updates_done += 1
