# A window that cannot be told from a right one by its numbers: four micro-batches, each of them the same
# batch, while three of four that were handed out are never used.
accumulation_steps = 4
batches = list(train_loader)

optimizer.zero_grad()
for i in range(len(batches)):
    x, y = batches[i - i % accumulation_steps]
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
