# The clip makes new gradient tensors instead of changing the old ones.
import math

import torch
from torch.amp import GradScaler

scaler = GradScaler("cuda")


@torch.autocast("cuda", dtype=torch.float16)
def compute_loss(batch):
    x, y = batch
    return criterion(model(x), y)


def global_norm(params):
    return math.sqrt(sum(float(p.grad.detach().float().pow(2).sum()) for p in params))


params = list(model.parameters())
batches = list(train_loader)
for lo in range(0, len(batches), 4):
    group = batches[lo : lo + 4]
    model.zero_grad(set_to_none=False)
    for batch in group:
        scaler.scale(compute_loss(batch) * (1 / len(group))).backward()
    scaler.unscale_(optimizer)
    norm = global_norm(params)
    if math.isfinite(norm) and norm > 1.0:
        for p in params:
            p.grad = p.grad * (1.0 / norm)
    scaler.step(optimizer)
    scaler.update()
