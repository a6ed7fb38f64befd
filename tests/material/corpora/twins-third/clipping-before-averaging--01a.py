import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def reduce_gradients(parameters):
    works = []
    for p in parameters:
        p.grad.div_(dist.get_world_size())
        works.append(dist.all_reduce(p.grad, async_op=True))
    for work in works:
        work.wait()


def clip(parameters, limit):
    norms = torch.stack([p.grad.norm() for p in parameters])
    total = norms.norm()
    dist.all_reduce(total)
    factor = limit / (total + 1e-6)
    if factor < 1:
        for p in parameters:
            p.grad.mul_(factor)
    return total


parameters = list(model.parameters())
loader = list(train_loader)
for begin in range(0, len(loader), accumulation_steps):
    window = loader[begin : begin + accumulation_steps]
    optimizer.zero_grad()
    with model.no_sync():
        for x, y in window:
            (criterion(model(x), y) / len(window)).backward()
    reduce_gradients(parameters)
    clip(parameters, 1.0)
    optimizer.step()
