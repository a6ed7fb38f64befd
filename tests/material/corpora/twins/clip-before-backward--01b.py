from contextlib import contextmanager


@contextmanager
def bounded(parameters, max_norm):
    """The gradients of the block are bounded."""
    parameters = list(parameters)
    yield
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    with bounded(model.parameters(), 1.0):
        loss.backward()
        optimizer.step()
