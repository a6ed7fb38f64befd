# Settings in a dataclass; one method for a micro-batch, one for an update.
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclass
class Run:
    net: DDP
    steps: int = 4
    max_norm: float = 1.0
    scaler: torch.amp.GradScaler = field(default_factory=lambda: torch.amp.GradScaler("cuda"))

    def micro_batch(self, x, y, share, synchronise):
        with nullcontext() if synchronise else self.net.no_sync(), torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(self.net(x), y) * share
        self.scaler.scale(loss).backward()

    def update(self):
        self.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.max_norm)
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad()


run = Run(DDP(model, device_ids=[local_rank]))
for i, (x, y) in enumerate(train_loader):
    size = min(run.steps, len(train_loader) - i // run.steps * run.steps)
    last = i % run.steps == size - 1
    run.micro_batch(x, y, 1 / size, synchronise=last)
    if last:
        run.update()
