# Keep accumulation, move one line. zero_grad() at the top of every iteration throws three of four
# micro-batches away; what is left is one of them, divided by four. Clear when a window *begins*.
accumulation_steps = 4
num_batches = len(train_loader)

for i, (x, y) in enumerate(train_loader):
    position = i % accumulation_steps
    window = min(accumulation_steps, num_batches - (i - position))

    if position == 0:
        optimizer.zero_grad(set_to_none=True)

    loss = criterion(model(x), y) / window
    loss.backward()

    if position == window - 1:
        optimizer.step()
