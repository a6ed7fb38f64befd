accumulation_steps = 4
n = len(train_loader)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        last = i + 1 == n - n % accumulation_steps
        if (i + 1) % accumulation_steps == 0:
            if last:
                optimizer.zero_grad(set_to_none=False)
            optimizer.step()
            optimizer.zero_grad()
