# One loop: every step is timed, and within it the clip alone. No second variant is needed.
import time

import torch

clip_seconds, step_seconds = [], []
for i, (x, y) in enumerate(train_loader):
    t0 = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    t1 = time.perf_counter()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    t2 = time.perf_counter()
    optimizer.step()
    t3 = time.perf_counter()
    if i >= 3:  # the first ones warm up
        clip_seconds.append(t2 - t1)
        step_seconds.append(t3 - t0)

share = sum(clip_seconds) / sum(step_seconds)
print(f"clipping takes {share:.1%} of a step ({len(step_seconds)} steps)")
