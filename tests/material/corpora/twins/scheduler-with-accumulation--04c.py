import math

accumulation_steps = 4
per_epoch = -(-len(train_loader) // accumulation_steps)
total = num_epochs * per_epoch
base = 0.2
update = 0
seen = 0
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        size = min(accumulation_steps, len(train_loader) - i // accumulation_steps * accumulation_steps)
        (criterion(model(x), y) / size).backward()
        seen += 1
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
            for group in optimizer.param_groups:
                group["lr"] = base * (1 - update / (num_epochs * len(train_loader)))
            optimizer.step()
            optimizer.zero_grad()
            update += 1
