# No pass beforehand: the threshold follows the median of the last norms, once there are a few.
from collections import deque
from statistics import median

import torch

recent = deque(maxlen=50)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    limit = 4 * median(recent) if len(recent) >= 4 else 8.0
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit).item()
    recent.append(norm)
    if norm > limit:
        print(f"step {step}: {norm:.1f} clipped to {limit:.2f}")
    optimizer.step()
