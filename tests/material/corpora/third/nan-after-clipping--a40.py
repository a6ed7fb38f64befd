"""Where does the NaN come from? Clipping cannot cure it: it acts after backward, on a gradient that is NaN.

Order of questions:
  1. is the loss non-finite before backward?       -> custom_loss or its inputs
  2. is the loss fine, the gradient not?           -> sqrt/abs/where at the edge of the domain
  3. are parameters non-finite before the forward? -> an earlier update did it
"""
import logging
from dataclasses import dataclass, field

import torch

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("nan-hunt")


@dataclass
class Guard:
    floor: float = 1e-3
    bad_steps: list = field(default_factory=list)

    def into_domain(self, output):
        low = int((output < self.floor).sum())
        if low:
            log.info("%d prediction(s) under %g, lowest %g", low, self.floor, output.min().item())
        return output.clamp_min(self.floor)

    def accepts(self, step, loss, **tensors):
        if torch.isfinite(loss).all():
            return True
        self.bad_steps.append(step)
        log.error("step %d: loss is %s before backward", step, loss.item())
        for name, tensor in tensors.items():
            finite = tensor[torch.isfinite(tensor)]
            log.error(
                "   %-7s %d of %d not finite, rest in [%.4g, %.4g]",
                name, tensor.numel() - finite.numel(), tensor.numel(),
                finite.min().item() if finite.numel() else float("nan"),
                finite.max().item() if finite.numel() else float("nan"),
            )
        return False


guard = Guard()

for step, batch in enumerate(train_loader):
    optimizer.zero_grad(set_to_none=True)
    output = model(batch)
    loss = custom_loss(guard.into_domain(output), target)

    if not guard.accepts(step, loss, batch=batch, output=output.detach(), target=target):
        continue

    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0, error_if_nonfinite=True)
    optimizer.step()
    log.info("Loss: %.5f", loss.item())

log.info("steps without an update: %s", guard.bad_steps or "none")
