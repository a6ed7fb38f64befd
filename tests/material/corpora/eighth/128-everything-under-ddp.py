from contextlib import nullcontext

import torch


class Loop:
    """DDP averages over ranks; the loss carries the mean over micro-batches and nothing else."""

    window, max_norm = 4, 1.0

    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.scaler = GradScaler()

    def micro_step(self, x, y, sync):
        with nullcontext() if sync else self.model.no_sync():
            with autocast():
                loss = self.criterion(self.model(x), y) / self.window
            self.scaler.scale(loss).backward()

    def update(self):
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def run(self, loader):
        self.optimizer.zero_grad(set_to_none=True)
        for n, (x, y) in enumerate(loader, 1):
            boundary = not n % self.window
            self.micro_step(x, y, sync=boundary)
            if boundary:
                self.update()


Loop(DDP(model, device_ids=[local_rank]), optimizer, criterion).run(train_loader)
