import torch

accumulation_steps = 4
iterator = iter(train_loader)
seen, total = 0, len(train_loader)
exhausted = False

while not exhausted:
    optimizer.zero_grad(set_to_none=True)
    window = min(accumulation_steps, total - seen)
    gathered = 0
    while gathered < window:
        try:
            x, y = next(iterator)
        except StopIteration:
            exhausted = True
            break
        loss = criterion(model(x), y) / window
        loss.backward()
        gathered += 1
        seen += 1
    if gathered:
        optimizer.step()
    exhausted = exhausted or seen >= total
