# The sizes of all windows stand before the loop; each draws as many batches as it holds.
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
whole, rest = divmod(len(train_loader), 4)
batches = iter(train_loader)
for size in [4] * whole + [rest] * (rest > 0):
    for to_go in reversed(range(size)):
        x, y = next(batches)
        model.require_backward_grad_sync = not to_go
        (criterion(model(x), y) / size).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
