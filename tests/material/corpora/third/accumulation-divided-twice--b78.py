"""
Accumulation, one division.

The old loop divided the loss AND the gradients by accumulation_steps, so each update was
a quarter of the large-batch one. No learning rate change needed: drop the second division.
"""
accumulation_steps = 4
running = 0.0

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    running += loss.item()

    # the only place where anything is divided
    (loss / accumulation_steps).backward()

    # window complete
    if i % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
        print(f"batch {i:5d}  mean loss {running / (i + 1):.4f}")
