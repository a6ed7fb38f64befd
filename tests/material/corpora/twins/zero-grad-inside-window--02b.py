accumulation_steps = 4
held_out = next(iter(train_loader))


def look(step):
    """A cheap sign of life."""
    model.eval()
    x, y = held_out
    loss = criterion(model(x), y)
    loss.backward()
    print(f"{step}: {loss.item():.4f}")
    model.train()


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if i % 3 == 1:
        look(i)
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
