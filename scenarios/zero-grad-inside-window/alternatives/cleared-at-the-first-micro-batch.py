# zero_grad stays at the top of the loop, and only the first micro-batch of a window gets there.
accumulation_steps = 4

for i, (x, y) in enumerate(train_loader):
    position = i % accumulation_steps
    if position == 0:
        optimizer.zero_grad()
    size = min(accumulation_steps, len(train_loader) - (i - position))
    loss = criterion(model(x), y) / size
    loss.backward()

    if position + 1 == size:
        optimizer.step()
