# Every real row of a window weighs the same: add up gradients of *sums*, count rows as they come,
# and divide once, right before the step. No look-ahead needed.
import torch
import torch.nn.functional as F

accumulation_steps = 4


@torch.no_grad()
def apply_update(real_rows):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(real_rows)
    optimizer.step()
    optimizer.zero_grad()


optimizer.zero_grad()
real_rows = 0
for i, (data, target, mask) in enumerate(train_loader, start=1):
    losses = F.cross_entropy(model(data), target, reduction="none")
    (losses * mask).sum().backward()
    real_rows += int(mask.sum())

    if i % accumulation_steps == 0 or i == len(train_loader):
        apply_update(real_rows)
        real_rows = 0
