import math
from dataclasses import dataclass

import torch


@dataclass
class Schedule:
    epochs: int
    batches: int
    accumulation: int = 4

    @property
    def updates_per_epoch(self):
        return math.ceil(self.batches / self.accumulation)

    @property
    def total(self):
        return self.epochs * self.updates_per_epoch


plan = Schedule(num_epochs, len(train_loader))
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=plan.total)


def optimizer_step():
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()


for epoch in range(plan.epochs):
    held = 0
    for i, (x, y) in enumerate(train_loader):
        size = min(plan.accumulation, plan.batches - (i - i % plan.accumulation))
        (criterion(model(x), y) / size).backward()
        held += 1
        if held == size:
            optimizer_step()
            held = 0
