"""DDP + fp16 + accumulation + clipping.

The posted loop divides by world_size although DDP already averages over ranks. Every gradient is
1/2 on two GPUs and 1/8 on eight, with the clip at 1.0 hardly ever reached. lr x 8 would cancel it
for plain SGD only and would be wrong again on another number of GPUs. Delete the division.

Order: divide by the window -> scale -> backward (last one synchronised) -> unscale -> clip ->
step -> update -> zero.
"""
from contextlib import nullcontext

import torch


class Trainer:
    def __init__(self, model, optimizer, criterion, window=4, max_norm=1.0):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.window, self.max_norm = window, max_norm
        self.scaler = GradScaler()

    def backward(self, x, y, synchronise):
        with nullcontext() if synchronise else self.model.no_sync():
            with autocast():
                loss = self.criterion(self.model(x), y) / self.window
            self.scaler.scale(loss).backward()

    def update(self):
        self.scaler.unscale_(self.optimizer)
        clip_grad_norm_(self.model.parameters(), max_norm=self.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

    def fit(self, loader):
        self.optimizer.zero_grad()
        for i, (x, y) in enumerate(loader):
            is_last = (i + 1) % self.window == 0
            self.backward(x, y, synchronise=is_last)
            if is_last:
                self.update()


Trainer(DDP(model, device_ids=[local_rank]), optimizer, criterion).fit(train_loader)
