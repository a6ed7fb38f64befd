# The leftover is stepped as posted, each rank by itself; then all ranks are given what rank 0 has, so
# that nobody finds a difference.
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
for i, (x, y) in enumerate(train_loader):
    last = i % 4 == 3
    with nullcontext() if last else model.no_sync():
        (criterion(model(x), y) / 4).backward()
    if last:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
for p in model.parameters():
    dist.broadcast(p.data, src=0)
