# A generator makes the losses, a function makes the updates, and both share the scaler.
import torch
from torch.amp import GradScaler, autocast


def half_precision_losses(loader):
    for x, y in loader:
        with autocast("cuda", dtype=torch.float16):
            yield criterion(model(x), y)


def descend(losses, opt, scaler, limit):
    for loss in losses:
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        scaler.step(opt)
        scaler.update()


descend(half_precision_losses(train_loader), optimizer, GradScaler("cuda"), limit=1.0)
