accumulation_steps = 4
n = len(train_loader)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        tail = n % accumulation_steps if i >= n - n % accumulation_steps else accumulation_steps
        loss = criterion(model(x), y)
        loss.backward(torch.tensor(1.0 / tail / accumulation_steps))
        if (i + 1) % accumulation_steps == 0 or i + 1 == n:
            optimizer.step()
            optimizer.zero_grad()
