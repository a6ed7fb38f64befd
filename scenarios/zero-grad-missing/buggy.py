accumulation_steps = 4

for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
