# The clip is a step pre-hook of the optimizer, made by a partial; the loop itself knows nothing of it.
from functools import partial

import torch


def clip(opt, args, kwargs, *, limit):
    parameters = [p for group in opt.param_groups for p in group["params"] if p.grad is not None]
    torch.nn.utils.clip_grad_norm_(parameters, limit, norm_type=2, error_if_nonfinite=True)


handle = optimizer.register_step_pre_hook(partial(clip, limit=2.0))
for x, y in train_loader:
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
handle.remove()
