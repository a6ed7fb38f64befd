# A generator says for every batch what to divide by and whether the window ends there.
def planned(loader, steps):
    last = len(loader) - 1
    rest = len(loader) % steps
    for i, batch in enumerate(loader):
        divisor = rest if rest and i > last - rest else steps
        yield batch, divisor, i % steps == steps - 1 or i == last


for (x, y), divisor, full in planned(train_loader, 4):
    loss = criterion(model(x), y) / divisor
    loss.backward()
    if full:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
