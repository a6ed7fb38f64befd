# All forwards of a window first (only the last prepares the reducer), then one backward of the mean.
import torch
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
batches = list(train_loader)

for start in range(0, len(batches), accumulation_steps):
    window = batches[start : start + accumulation_steps]
    total = 0.0
    for j, (x, y) in enumerate(window):
        is_last = j + 1 == len(window)
        with nullcontext() if is_last else model.no_sync():
            total = total + criterion(model(x), y) / len(window)
    optimizer.zero_grad()
    total.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
