# All forwards of a window under one autocast, then one backward of the scaled sum, which synchronises once.
from itertools import islice

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

ddp, scaler = DDP(model, device_ids=[local_rank]), torch.amp.GradScaler("cuda")
loader = iter(train_loader)
while window := list(islice(loader, 4)):
    with torch.autocast("cuda", dtype=torch.float16):
        with ddp.no_sync():
            losses = [criterion(ddp(x), y) for x, y in window[:-1]]
        x, y = window[-1]
        losses.append(criterion(ddp(x), y))
    optimizer.zero_grad()
    scaler.scale(torch.stack(losses).mean()).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
