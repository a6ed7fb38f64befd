import contextlib

import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def bounded(state, bucket):
    flat = bucket.buffer()
    flat.mul_(torch.clamp(1.0 / (flat.norm() + 1e-6), max=1.0)).div_(dist.get_world_size())
    return dist.all_reduce(flat, async_op=True).get_future().then(lambda f: f.value()[0])


model.register_comm_hook(None, bounded)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % accumulation_steps == 0
    with contextlib.nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
