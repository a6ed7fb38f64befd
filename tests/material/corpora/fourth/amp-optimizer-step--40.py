"""Three products or not, this is the loop that kills the weights.

GradScaler keeps raising its scale until something overflows. That is normal, and `scaler.step` leaves such an update
out. `optimizer.step()` does not: one infinity, clipped to NaN, and every weight is gone. No sample is to
blame, no need to scan 40 TB.
"""
import logging

import torch
from torch.amp import GradScaler, autocast

log = logging.getLogger("train")


class AmpStep:
    def __init__(self, model, optimizer, max_norm=1.0):
        self.optimizer = optimizer
        self.max_norm = max_norm
        self.scaler = GradScaler("cuda")
        # frozen and unused parameters have no gradient and are of no interest for the norm
        self.params = [p for p in model.parameters() if p.requires_grad and p.grad is not None]
        self.skipped = 0

    def __call__(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.params, self.max_norm)
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)  # not optimizer.step()
        self.scaler.update()
        if self.scaler.get_scale() < before:
            self.skipped += 1
            log.info("overflow number %d, update left out", self.skipped)
        return norm


step = AmpStep(model, optimizer)
for x, y in train_loader:
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    step(loss)
