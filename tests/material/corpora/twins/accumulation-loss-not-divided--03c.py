accumulation_steps = 4
n = len(train_loader)
size = accumulation_steps

optimizer.zero_grad()
for epoch in range(num_epochs):
    total = 0.0
    for i, (x, y) in enumerate(train_loader):
        if i == n - n % accumulation_steps:
            size = n % accumulation_steps
        elif i == 0:
            size = accumulation_steps
        loss = criterion(model(x), y) / size
        total = loss
        if (i + 1) % accumulation_steps == 0 or i + 1 == n:
            total.backward()
            optimizer.step()
            optimizer.zero_grad()
            total = 0.0
