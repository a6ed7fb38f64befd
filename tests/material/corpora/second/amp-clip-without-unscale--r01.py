"""fp16 stays. The clip saw gradients times 65536: always above 1.0, cut to 1.0, and then divided by
65536 in scaler.step. One line (unscale_) in the right place; wrapped up so that nobody reorders it."""
from dataclasses import dataclass

import torch
from torch.amp import GradScaler, autocast


@dataclass
class AmpConfig:
    dtype: torch.dtype = torch.float16
    max_norm: float = 1.0


class AmpStepper:
    def __init__(self, model, optimizer, cfg):
        self.model, self.optimizer, self.cfg = model, optimizer, cfg
        self.scaler = GradScaler("cuda")

    def __call__(self, loss):
        """backward -> unscale -> clip -> step (skipped on overflow) -> update. Returns the true norm."""
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return norm


cfg = AmpConfig()
stepper = AmpStepper(model, optimizer, cfg)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad(set_to_none=True)
    with autocast("cuda", dtype=cfg.dtype):
        loss = criterion(model(x), y)
    norm = stepper(loss)
    if step % 10 == 0:
        print(f"{step}: loss {loss.item():.4f} grad norm {norm.item():.3f} scale {stepper.scaler.get_scale():.0f}")
