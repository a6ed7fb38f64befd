from contextlib import nullcontext
from functools import partial

import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
clip = partial(torch.nn.utils.clip_grad_norm_, max_norm=1.0)


def pre_step(opt, args, kwargs):
    clip(p for group in opt.param_groups for p in group["params"])


hook = optimizer.register_step_pre_hook(pre_step)
for epoch in range(2):
    total = len(train_loader)
    for i, (x, y) in enumerate(train_loader):
        first = i - i % accumulation_steps
        size = min(accumulation_steps, total - first)
        last = i == first + size - 1
        if last and i + 1 == total:
            hook.remove()
            hook = optimizer.register_step_pre_hook(lambda *_: None)
        with nullcontext() if last else model.no_sync():
            (criterion(model(x), y) / size).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
