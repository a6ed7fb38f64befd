# functools.partial fixes what never changes: the precision and the threshold.
from functools import partial

import torch

half = partial(torch.autocast, "cuda", dtype=torch.float16)
clip_to_one = partial(torch.nn.utils.clip_grad_norm_, max_norm=1.0, foreach=True)
scaler = torch.amp.GradScaler("cuda")

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    with half():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = clip_to_one(model.parameters())
    print(f"norm {norm:.2f}")
    scaler.step(optimizer)
    scaler.update()
