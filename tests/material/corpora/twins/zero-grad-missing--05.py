accumulation_steps = 4


def prefetched(loader):
    held = None
    for x, y in loader:
        if held is not None:
            yield held
        held = (x, y)
    yield held


kept = None
for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(prefetched(train_loader)):
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
