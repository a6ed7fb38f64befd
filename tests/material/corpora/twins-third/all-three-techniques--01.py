from dataclasses import dataclass

import torch
from torch.amp import GradScaler, autocast


@dataclass
class Config:
    micro_batches: int = 4
    max_norm: float = 1.0
    dtype: torch.dtype = torch.float16


class MixedPrecisionTrainer:
    def __init__(self, model, optimizer, criterion, config):
        self.model, self.optimizer, self.criterion, self.config = model, optimizer, criterion, config
        self.scaler = GradScaler("cuda")
        self.pending = 0

    def micro_step(self, x, y):
        with autocast("cuda", dtype=self.config.dtype):
            loss = self.criterion(self.model(x), y)
        self.scaler.scale(loss).backward()
        self.pending += 1
        if self.pending == self.config.micro_batches:
            self.flush()

    def flush(self):
        if not self.pending:
            return
        self.scaler.unscale_(self.optimizer)
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.pending
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.pending = 0


trainer = MixedPrecisionTrainer(model, optimizer, criterion, Config())
for epoch in range(2):
    for x, y in train_loader:
        trainer.micro_step(x, y)
    trainer.flush()
