"""What does clipping cost us? Measured inside the real loop, without changing it.

Clipping is one norm over all gradients plus one multiplication; around a percent or less of a large model's step. Keep
it: a divergence on day four costs more than all the clipping of a year. Clipping every tenth step protects nothing.

For each step after the warm-up: seconds for the clip alone and for the whole step, the device idle at each reading.
"""
import statistics
import time

import torch

WARM_UP = 3
MAX_NORM = 1.0


def now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


shares = []
for step, (batch, labels) in enumerate(train_loader):
    start = now()

    optimizer.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()

    before_clip = now()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=MAX_NORM)
    after_clip = now()

    optimizer.step()
    end = now()

    if step >= WARM_UP:
        shares.append((after_clip - before_clip) / (end - start))

if shares:
    size = sum(p.numel() for p in model.parameters())
    shares.sort()
    print(
        f"{size:,} parameters: clipping takes {statistics.median(shares):.2%} of a step "
        f"(middle of {len(shares)} steps; lowest {shares[0]:.2%}, highest {shares[-1]:.2%})"
    )
