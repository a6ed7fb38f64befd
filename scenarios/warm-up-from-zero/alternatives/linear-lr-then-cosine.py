# torch's own ramp, which cannot start at zero, then a cosine, joined by SequentialLR.
import math

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

steps, warmup = 4, 3
updates = num_epochs * math.ceil(len(train_loader) / steps)
ramp = LinearLR(optimizer, start_factor=1 / warmup, total_iters=warmup - 1)
decay = CosineAnnealingLR(optimizer, T_max=max(1, updates - warmup))
schedule = SequentialLR(optimizer, [ramp, decay], milestones=[warmup])

for epoch in range(num_epochs):
    optimizer.zero_grad(set_to_none=True)
    for n, (inputs, targets) in enumerate(train_loader, start=1):
        (criterion(model(inputs), targets) / steps).backward()
        if n % steps == 0 or n == len(train_loader):
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
