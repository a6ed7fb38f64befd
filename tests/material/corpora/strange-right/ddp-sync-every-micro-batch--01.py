import contextlib

from torch.nn.parallel import DistributedDataParallel as DDP

net = DDP(model, device_ids=[local_rank])
K = 4


@contextlib.contextmanager
def maybe_sync(ddp, sync):
    if sync:
        yield
    else:
        with ddp.no_sync():
            yield


it = iter(train_loader)
left = len(train_loader)
while left > 0:
    size = min(K, left)
    optimizer.zero_grad()
    for j in range(size):
        x, y = next(it)
        with maybe_sync(net, sync=(j == size - 1)):
            loss = criterion(net(x), y)
            (loss / size).backward()
    optimizer.step()
    left -= size
