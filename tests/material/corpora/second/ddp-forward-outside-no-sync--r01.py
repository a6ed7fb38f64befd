"""no_sync() only sets a flag, and DDP reads the flag in forward. With the forward outside, every backward
still reduces: four rounds, as in your trace. No NCCL bug."""
from contextlib import ExitStack

from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def flagged(loader, size):
    """Yield (batch, micro-batches in this window, is it the last of the window)."""
    total = len(loader)
    for i, batch in enumerate(loader):
        begin = i // size * size
        end = min(begin + size, total)
        yield batch, end - begin, i == end - 1


optimizer.zero_grad()
for (x, y), window, last in flagged(train_loader, accumulation_steps):
    with ExitStack() as stack:
        if not last:
            stack.enter_context(model.no_sync())
        loss = criterion(model(x), y) / window
        loss.backward()

    if last:
        optimizer.step()
        optimizer.zero_grad()
