import torch
from torch.nn.parallel import DistributedDataParallel as DDP

ddp_model = DDP(model, device_ids=[local_rank], gradient_as_bucket_view=True)
accumulation_steps = 4


def micro_batches(loader, n):
    """Yields (batch, share, last) with a look-ahead, so no len() is needed."""
    window = []
    for batch in loader:
        if len(window) == n:
            yield from emit(window)
            window = []
        window.append(batch)
    yield from emit(window)


def emit(window):
    for k, batch in enumerate(window):
        yield batch, 1 / (k + 1), k + 1 == len(window)


def backward(batch, share):
    x, y = batch
    loss = criterion(ddp_model(x), y)
    torch.mul(loss, share).backward()


for epoch in range(2):
    for batch, share, last in micro_batches(train_loader, accumulation_steps):
        if last:
            backward(batch, share)
            optimizer.step()
            optimizer.zero_grad()
        else:
            with ddp_model.no_sync():
                backward(batch, share)
