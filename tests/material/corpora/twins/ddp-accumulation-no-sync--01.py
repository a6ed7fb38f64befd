import contextlib

import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
rank = dist.get_rank()


def average(state, bucket):
    flat = bucket.buffer() / dist.get_world_size()
    return dist.all_reduce(flat, async_op=True).get_future().then(lambda f: f.value()[0])


model.register_comm_hook(None, average)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % accumulation_steps == 0
    with contextlib.nullcontext() if last else model.no_sync():
        (criterion(model(x), y) / accumulation_steps).backward()
    if last:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
