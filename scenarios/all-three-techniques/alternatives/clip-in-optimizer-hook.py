# The clip lives in a hook of the optimizer. scaler.step unscales before it calls optimizer.step,
# so the hook sees true gradients, and an update that overflowed never gets there.
import torch
from torch.cuda.amp import GradScaler, autocast

ACCUM = 4
scaler = GradScaler()


def clip_before_step(opt, args, kwargs):
    torch.nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], max_norm=1.0)


handle = optimizer.register_step_pre_hook(clip_before_step)

pending = 0
for x, y in train_loader:
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss / ACCUM).backward()
    pending += 1
    if pending == ACCUM:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        pending = 0

if pending:
    # a last, shorter window: its losses were divided by ACCUM, so weigh them up again
    scaler.unscale_(optimizer)
    for p in model.parameters():
        if p.grad is not None:
            p.grad.mul_(ACCUM / pending)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)

handle.remove()
