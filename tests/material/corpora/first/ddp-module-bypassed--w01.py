"""model.module skips DDP's synchronisation.  The custom method stays; we average over ranks here."""
import torch
import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
world_size = dist.get_world_size()


def reduce_mean(value):
    """Mean over all ranks."""
    with torch.no_grad():
        dist.all_reduce(value.data, op=dist.ReduceOp.SUM)
        value.data /= world_size
    return value


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    output = model.module.forward(x)
    # every rank differentiates the same, averaged loss
    loss = reduce_mean(criterion(output, y) / accumulation_steps)
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
