# No scheduler: a function of the number of updates gives the rate, which is written into the groups.
import math

accumulation_steps = 4
base = optimizer.param_groups[0]["lr"]
total = num_epochs * math.ceil(len(train_loader) / accumulation_steps)
update = 0

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        start = i - i % accumulation_steps
        size = min(accumulation_steps, len(train_loader) - start)
        loss = criterion(model(x), y) / size
        loss.backward()

        if i + 1 == start + size:
            for group in optimizer.param_groups:
                group["lr"] = 0.5 * base * (1 + math.cos(math.pi * update / total))
            optimizer.step()
            optimizer.zero_grad()
            update += 1
