from dataclasses import dataclass, field

import torch
from torch.amp import GradScaler, autocast


@dataclass
class AmpStep:
    max_norm: float = 1.0
    scaler: GradScaler = field(default_factory=lambda: GradScaler("cuda"))
    skipped: int = 0

    def __call__(self, x, y):
        optimizer.zero_grad(set_to_none=True)
        with autocast(device_type="cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        self.scaler.scale(loss).backward()
        if self.skipped:
            self.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), self.max_norm)
        before = self.scaler.get_scale()
        self.scaler.step(optimizer)
        self.scaler.update()
        self.skipped += self.scaler.get_scale() < before
        return loss.detach()


step = AmpStep()
for epoch in range(2):
    losses = [step(x, y) for x, y in train_loader]
