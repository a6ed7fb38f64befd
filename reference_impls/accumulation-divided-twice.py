accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    # The last window of an epoch can be shorter: divide by what it really holds.
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)

    loss = criterion(model(x), y) / window
    loss.backward()

    if i + 1 == first + window:
        optimizer.step()
        optimizer.zero_grad()
