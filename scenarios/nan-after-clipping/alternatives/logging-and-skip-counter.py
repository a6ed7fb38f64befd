# logging, a counter, and a limit on how many batches may be left out.
import logging
import math

import torch

log = logging.getLogger("train")
FLOOR = 1e-5
skipped = 0


def safe_loss(prediction, truth):
    return custom_loss(torch.clamp(prediction, min=FLOOR), truth)


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad(set_to_none=True)
    prediction = model(x)
    loss = safe_loss(prediction, y)
    value = loss.item()
    if math.isnan(value) or math.isinf(value):
        skipped += 1
        log.warning("step %d: loss %s; inputs finite: %s, targets finite: %s, predictions in [%g, %g]",
                    step, value, x.isfinite().all().item(), y.isfinite().all().item(),
                    prediction.min().item(), prediction.max().item())
        if skipped > 5:
            raise SystemExit("too many batches without a finite loss")
        continue
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
