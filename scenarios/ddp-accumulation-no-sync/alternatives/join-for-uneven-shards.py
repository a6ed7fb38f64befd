# Inside join(), so that ranks with fewer batches do not hang the others.
import torch
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

with Join([model]):
    batches = list(train_loader)
    for i, (x, y) in enumerate(batches):
        size = min(accumulation_steps, len(batches) - i // accumulation_steps * accumulation_steps)
        if i % accumulation_steps != size - 1:
            with model.no_sync():
                (criterion(model(x), y) / size).backward()
            continue
        (criterion(model(x), y) / size).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
