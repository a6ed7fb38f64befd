# Through the wrapper; each sample weighs one over the window's samples on all ranks, which are counted
# with one small all-reduce, and DDP's division by the ranks is taken back.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

ddp = DDP(model, device_ids=[local_rank])
batches = list(train_loader)
while batches:
    window, batches = batches[:4], batches[4:]
    samples = torch.tensor([sum(len(x) for x, _ in window)])
    dist.all_reduce(samples)
    for left, (x, y) in zip(reversed(range(len(window))), window):
        ddp.require_backward_grad_sync = left == 0
        loss = criterion(ddp(x), y) * len(x) * dist.get_world_size() / samples.item()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
