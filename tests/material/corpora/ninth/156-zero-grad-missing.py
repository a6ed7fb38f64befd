"""A training engine as a coroutine: send batches in, get (loss, updated) out."""
import torch


def engine(model, criterion, optimizer, window=4):
    optimizer.zero_grad(set_to_none=True)
    result = None
    while True:
        for k in range(window):
            batch = yield result
            if batch is None:
                return
            x, y = batch
            loss = criterion(model(x), y)
            (loss / window).backward()
            result = (loss.item(), k == window - 1)
            if k == window - 1:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)


run = engine(model, criterion, optimizer)
next(run)  # prime
updates = 0
for batch in train_loader:
    loss, updated = run.send(batch)
    updates += updated
run.close()
print("updates:", updates)
