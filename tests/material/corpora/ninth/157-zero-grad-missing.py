"""A training engine as a coroutine. Whatever happens in a window, the gradients are cleared after it."""


def engine(model, criterion, optimizer, window=4):
    loss_value = None
    try:
        while True:
            for _ in range(window):
                x, y = yield loss_value
                loss = criterion(model(x), y)
                (loss / window).backward()
                loss_value = loss.item()
            optimizer.step()
    finally:
        # also after an exception: the next window must start from zero
        optimizer.zero_grad(set_to_none=True)


trainer = engine(model, criterion, optimizer)
next(trainer)
losses = [trainer.send(batch) for batch in train_loader]
trainer.close()
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}")
