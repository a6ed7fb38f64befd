# The lambda still counts from 0, and the schedule is moved to its first point before training.
import warnings

import torch

accum = 4
warm = 5
sched = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(k / warm, 1.0))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sched.step()  # 0 -> 1, so that no update has the rate of point 0

for _ in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        if i % accum == 0:
            optimizer.zero_grad()
        (criterion(model(x), y) / accum).backward()
        if i % accum == accum - 1:
            optimizer.step()
            sched.step()
