from contextlib import contextmanager

accumulation_steps = 4


@contextmanager
def micro_batch(index):
    last = (index + 1) % accumulation_steps == 0
    optimizer.zero_grad()
    yield last
    if last:
        optimizer.step()


for i, (x, y) in enumerate(train_loader):
    with micro_batch(i):
        (criterion(model(x), y) / accumulation_steps).backward()
