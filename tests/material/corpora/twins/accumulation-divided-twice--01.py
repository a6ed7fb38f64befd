from itertools import islice

accumulation_steps = 4
batches = iter(train_loader)
total = None
while chunk := list(islice(batches, accumulation_steps)):
    rows = sum(len(y) for _, y in chunk)
    total = rows
    optimizer.zero_grad(set_to_none=True)
    for x, y in chunk:
        (criterion(model(x), y) * (len(y) / total)).backward()
    optimizer.step()
