# No GradScaler: a scale of our own, taken out together with the clip in a single division, and lowered
# where the norm overflows.
import math

import torch

scale, max_norm = 2.0**16, 1.0
params = [p for p in model.parameters() if p.requires_grad]

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    (loss * scale).backward()

    grads = [p.grad for p in params]
    norm = torch.nn.utils.get_total_norm(grads).item() / scale
    if not math.isfinite(norm):
        scale /= 2
        continue
    torch._foreach_div_(grads, scale * max(1.0, norm / max_norm))
    optimizer.step()
