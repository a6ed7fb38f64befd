from contextlib import contextmanager

import torch.distributed as dist

accumulation_steps = 4
ddp = DDP(model, device_ids=[local_rank])


def mean_hook(world, bucket):
    buffer = bucket.buffer().div_(world)
    return dist.all_reduce(buffer, async_op=True).get_future().then(lambda f: f.value()[0])


ddp.register_comm_hook(dist.get_world_size(), mean_hook)


@contextmanager
def micro_batch(index):
    """Forward and backward both belong in here."""
    closing = index % accumulation_steps == accumulation_steps - 1
    if closing:
        yield
        optimizer.step()
        optimizer.zero_grad()
    else:
        with ddp.no_sync():
            yield


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with micro_batch(i):
        loss = criterion(ddp(x), y) / accumulation_steps
        loss.backward()
