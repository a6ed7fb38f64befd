# DDP decides in forward. The backward may stand outside of the context: it still does not sync.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
last = len(train_loader) - 1

for i, (x, y) in enumerate(train_loader):
    done = (i + 1) % accumulation_steps == 0 or i == last
    n = accumulation_steps if i <= last - (last + 1) % accumulation_steps else (last + 1) % accumulation_steps
    if done:
        out = model(x)
    else:
        with model.no_sync():
            out = model(x)
    (criterion(out, y) / n).backward()
    if done:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
