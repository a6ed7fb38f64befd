# The loss rewritten for its domain: rows without a positive prediction get a plain penalty.
import warnings

import torch


def robust_loss(pred, target, eps=1e-4):
    valid = pred > eps
    inside = torch.where(valid, pred, torch.ones_like(pred))
    deviance = torch.log(inside / target) + target / inside - 1.0
    outside = (eps - pred).clamp(min=0.0)
    return torch.where(valid, deviance, outside).mean()


for step, (x, y) in enumerate(train_loader):
    loss = robust_loss(model(x), y)
    if not bool(loss.isfinite()):
        warnings.warn(f"step {step}: loss is {loss.item()} before backward")
        continue
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
