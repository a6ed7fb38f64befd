import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
max_norm = 1.0


def clipping_hook(state, bucket: dist.GradBucket):
    """Clips exactly at the moment of synchronisation, so that averaging and clipping are one thing."""
    buffer = bucket.buffer()
    norm = buffer.norm()
    buffer.mul_((state["max_norm"] / (norm + 1e-6)).clamp(max=1.0))
    buffer.div_(dist.get_world_size())
    return dist.all_reduce(buffer, async_op=True).get_future().then(lambda f: f.value()[0])


model.register_comm_hook({"max_norm": max_norm}, clipping_hook)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % accumulation_steps == 0
    with nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

    if last:
        optimizer.step()
        optimizer.zero_grad()
