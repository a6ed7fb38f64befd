import functools

import torch
from torch.amp import GradScaler
from torch.nn.parallel import DistributedDataParallel as DDP

amp = functools.partial(torch.autocast, "cuda", dtype=torch.float16)


class Window:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        for i, item in enumerate(self.items):
            yield item, i == len(self.items) - 1


def batched(loader, n):
    items = []
    for item in loader:
        items.append(item)
        if len(items) == n:
            yield Window(items)
            items = []
    if items:
        yield Window(items)


ddp = DDP(model, device_ids=[local_rank])
scaler = GradScaler("cuda")
for epoch in range(2):
    for window in batched(train_loader, 4):
        for (x, y), last in window:
            ddp.require_backward_grad_sync = last
            with amp():
                loss = criterion(ddp(x), y)
            scaler.scale(loss / len(window)).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
