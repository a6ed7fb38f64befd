# A context manager hands out true gradients and makes the update when its block ends.
from contextlib import contextmanager

import torch

scaler = torch.amp.GradScaler("cuda")


@contextmanager
def true_gradients(opt):
    scaler.unscale_(opt)
    yield [p for group in opt.param_groups for p in group["params"]]
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()


for x, y in train_loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    with true_gradients(optimizer) as params:
        torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)
