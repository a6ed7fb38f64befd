# An all-reduce in its two halves, once a window: every rank sums up its slice, and gets those of the others.
import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

world, count = dist.get_world_size(), 0
for p in model.parameters():
    dist.broadcast(p.data, src=0)

for i, (x, y) in enumerate(train_loader, start=1):
    criterion(model(x), y).backward()
    count += 1
    if count < 4 and i < len(train_loader):
        continue
    grads = [p.grad for p in model.parameters()]
    flat = parameters_to_vector(grads) / (count * world)
    padded = torch.nn.functional.pad(flat, (0, -len(flat) % world))
    mine = torch.empty(len(padded) // world)
    dist.reduce_scatter_tensor(mine, padded)
    dist.all_gather_into_tensor(padded, mine)
    vector_to_parameters(padded[: len(flat)], grads)
    optimizer.step()
    optimizer.zero_grad()
    count = 0
