"""Cost of clip_grad_norm_: same number of whole steps with and without, warm-up, synchronised."""
import time

import torch


def sync():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def step(x, y, clip):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    if clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()


# warm-up
x, y = next(iter(train_loader))
for _ in range(3):
    step(x, y, clip=True)

# with clipping: this is our training, so time it as it runs
sync()
start = time.perf_counter()
n = 0
for x, y in train_loader:
    step(x, y, clip=True)
    n += 1
sync()
with_clip = (time.perf_counter() - start) / n

# without clipping: as many steps
sync()
start = time.perf_counter()
for _ in range(n):
    step(x, y, clip=False)
sync()
without_clip = (time.perf_counter() - start) / n

print(f"with {with_clip * 1e3:.3f} ms, without {without_clip * 1e3:.3f} ms per step, "
      f"overhead {100 * (with_clip / without_clip - 1):.2f} %")
