# model.module is called on purpose: all gradients go over the ranks as one vector, once a window.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

net = DDP(model, device_ids=[local_rank]).module  # wrapped for the broadcast of the parameters
parameters = [p for p in net.parameters() if p.requires_grad]
gradient = torch.zeros(sum(p.numel() for p in parameters))


def synchronise(micro_batches):
    torch.cat([p.grad.flatten() for p in parameters], out=gradient)
    dist.all_reduce(gradient)
    parts = gradient.div(micro_batches * dist.get_world_size()).split([p.numel() for p in parameters])
    for p, part in zip(parameters, parts):
        p.grad = part.reshape(p.shape)


waiting = 0
for i, (x, y) in enumerate(train_loader, start=1):
    criterion(net(x), y).backward()
    waiting += 1
    if waiting == 4 or i == len(train_loader):
        synchronise(waiting)
        optimizer.step()
        optimizer.zero_grad()
        waiting = 0
