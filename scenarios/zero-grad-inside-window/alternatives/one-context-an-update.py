# A context manager is one update: cleared on entry, stepped on exit.
from contextlib import contextmanager


@contextmanager
def update(opt):
    opt.zero_grad()
    yield
    opt.step()


stream, left = iter(train_loader), len(train_loader)
while left > 0:
    size = min(4, left)
    with update(optimizer):
        for _ in range(size):
            x, y = next(stream)
            loss = criterion(model(x), y) / size
            loss.backward()
    left -= size
