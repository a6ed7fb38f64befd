"""Answer: none. A smaller rate shrinks the good steps along with the bad ones.

The jumps come from rare, huge gradients; bound those and return to the first or second rate you
tried (1e-2 / 1e-3). The log shows norms *before* clipping: rare outliers far above the rest mean
that this is the right cure. NaN with quiet norms would be something else.
"""
import logging
from dataclasses import dataclass

import torch

logging.basicConfig(format="%(message)s")
log = logging.getLogger("train")


@dataclass
class Patience:
    """Early stopping on a smoothed loss."""

    allowed: int = 2000
    best: float = float("inf")
    smooth: float | None = None
    bad: int = 0

    def exhausted(self, loss: float) -> bool:
        self.smooth = loss if self.smooth is None else 0.98 * self.smooth + 0.02 * loss
        if self.smooth < self.best:
            self.best, self.bad = self.smooth, 0
        else:
            self.bad += 1
        return self.bad > self.allowed


patience = Patience()
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()

    log.info("step %d: loss %.4f norm %.3g", step, loss.item(), norm.item())
    if patience.exhausted(loss.item()):
        break
