# Every sample of the window weighs the same over all ranks: sum-loss, divided by the global count,
# times the number of ranks because DDP averages.
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
world_size = dist.get_world_size()


def flush(window):
    count = torch.tensor(sum(len(y) for _, y in window), dtype=torch.long)
    dist.all_reduce(count)
    optimizer.zero_grad()
    for j, (x, y) in enumerate(window):
        with nullcontext() if j == len(window) - 1 else model.no_sync():
            loss = criterion(model(x), y) * len(y)
            (loss * world_size / count.item()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()


window = []
for pair in train_loader:
    window.append(pair)
    if len(window) == accumulation_steps:
        flush(window)
        window = []
if window:
    flush(window)
