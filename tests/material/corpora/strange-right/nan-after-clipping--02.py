import logging
import math

import torch

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger("train")


def positive(pred, floor=1e-4):
    """The loss takes logs: anything at or below zero is moved to the floor."""
    return torch.maximum(pred, torch.full_like(pred, floor))


class LossGuard:
    def __init__(self, loss, step):
        self.value, self.step = loss.item(), step

    def __bool__(self):
        ok = math.isfinite(self.value)
        if not ok:
            logger.error("step %d: loss is %s before backward, not updating", self.step, self.value)
            print(f"step {self.step}: non-finite loss {self.value} before backward")
        return ok


for step, (batch, target) in enumerate(train_loader):
    optimizer.zero_grad()
    prediction = model(batch)
    loss = custom_loss(positive(prediction), target)
    if not LossGuard(loss, step):
        continue
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    if not torch.isfinite(grad_norm):
        logger.error("step %d: gradient not finite", step)
        continue
    optimizer.step()
    logger.info("step %d loss %.4f norm %.3f", step, loss.item(), grad_norm)
