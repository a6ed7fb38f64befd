from contextlib import nullcontext
from itertools import islice

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
params = [p for p in model.parameters() if p.requires_grad]


def chunks(iterable, n):
    it = iter(iterable)
    while chunk := list(islice(it, n)):
        yield chunk


running = 0.0
for epoch in range(2):
    for chunk in chunks(train_loader, accumulation_steps):
        optimizer.zero_grad(set_to_none=True)
        for j, (inputs, target) in enumerate(chunk):
            last = j == len(chunk) - 1 or epoch > 0
            with model.no_sync() if not last else nullcontext():
                loss = criterion(model(inputs), target)
                (loss / len(chunk)).backward()
            running += loss.item() / len(chunk)
        torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)
        optimizer.step()
print(f"{running:.3f}")
