# A while loop draws each batch with next() and counts the window down to the micro-batch that synchronises.
from torch.nn.parallel import DistributedDataParallel as DDP

ddp = DDP(model, device_ids=[local_rank])
loader, remaining = iter(train_loader), len(train_loader)
while remaining:
    size = left = min(4, remaining)
    while left:
        left -= 1
        inputs, targets = next(loader)
        ddp.require_backward_grad_sync = left == 0
        criterion(ddp(inputs), targets).div(size).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    remaining -= size
