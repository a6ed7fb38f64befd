accumulation_steps = 4

optimizer.zero_grad()
for epoch in range(num_epochs):
    pending = 0
    for x, y in train_loader:
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        pending += 1
        if pending == accumulation_steps:
            optimizer.step()
            optimizer.zero_grad()
            pending = 0
    if pending:
        optimizer.step()
        optimizer.zero_grad()
