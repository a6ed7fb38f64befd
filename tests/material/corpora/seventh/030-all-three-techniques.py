"""fp16 autocast + accumulation over 4 + clipping at 1.0.

What was missing in the posted loop: the gradients still carry the loss scale when they are
clipped. scaler.unscale_() has to come first, once per update. Everything else was in order.

I collect gradients with torch.autograd.grad instead of .backward(): it makes visible what is
added when. Swap it for backward() if you use DDP.
"""
import torch
from torch.nn.utils import clip_grad_norm_

ACCUMULATION_STEPS = 4
scaler = torch.amp.GradScaler("cuda")
params = [p for p in model.parameters() if p.requires_grad]


def add_micro_batch(x, target):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), target)
    scaled = scaler.scale(loss / ACCUMULATION_STEPS)
    for p, g in zip(params, torch.autograd.grad(scaled, params)):
        p.grad = g if p.grad is None else p.grad.add_(g)
    return loss.detach()


def update():
    scaler.unscale_(optimizer)
    norm = clip_grad_norm_(params, max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    for p in params:
        p.grad = None
    return norm


for count, (x, target) in enumerate(train_loader, start=1):
    loss = add_micro_batch(x, target)
    if count % ACCUMULATION_STEPS == 0:
        norm = update()
        print(f"{count:5d}  loss {loss.item():.4f}  norm {norm.item():.3f}")
