# backward() adds to p.grad and nothing cleared it: update k consumed all windows so far. Clear it after
# each step. Learning rate and schedule can stay.
accumulation_steps = 4

for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad
