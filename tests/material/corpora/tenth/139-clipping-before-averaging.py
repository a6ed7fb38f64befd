import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
world = dist.get_world_size()


def reduce_gradients(params):
    """All reductions at once; returns when every gradient is the mean over ranks."""
    works = [dist.all_reduce(p.grad, async_op=True) for p in params]
    for work in works:
        work.wait()
    torch._foreach_div_([p.grad for p in params], world)


params = list(model.parameters())
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

    if (i + 1) % accumulation_steps == 0:
        reduce_gradients(params)
        torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
