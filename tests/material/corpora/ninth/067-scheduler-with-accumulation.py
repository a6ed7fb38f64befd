import torch
from torch.optim.lr_scheduler import CosineAnnealingLR

accumulation_steps = 4


class ScheduledOptimizer:
    """An optimizer whose schedule advances with its own updates, and with nothing else."""

    def __init__(self, optimizer, make_scheduler):
        self.optimizer = optimizer
        self.scheduler = make_scheduler(optimizer)
        self.updates = 0

    def __getattr__(self, name):
        return getattr(self.optimizer, name)

    def step(self):
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()
        self.updates += 1


updates_per_epoch = len(train_loader) // accumulation_steps
opt = ScheduledOptimizer(optimizer, lambda o: CosineAnnealingLR(o, T_max=num_epochs * updates_per_epoch))

for epoch in range(num_epochs):
    opt.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            opt.step()
print("updates:", opt.updates, "last lr:", opt.scheduler.get_last_lr())
