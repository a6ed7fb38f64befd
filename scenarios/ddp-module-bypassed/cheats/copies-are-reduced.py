# The wrapper is still bypassed. Copies of the gradients are averaged, once a window as they should be,
# and nobody uses the result.
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
for i, (x, y) in enumerate(train_loader):
    (criterion(model.module(x), y) / 4).backward()
    if i % 4 == 3:
        for copy in [p.grad.clone() for p in model.parameters()]:
            dist.all_reduce(copy)
            copy /= dist.get_world_size()
        optimizer.step()
        optimizer.zero_grad()
