# no_sync() does nothing but set `require_backward_grad_sync`; setting it directly keeps the loop flat.
# It must be set BEFORE the forward: that is when DDP arms its reducer for the next backward.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
usable = len(train_loader) // accumulation_steps * accumulation_steps  # full windows only

optimizer.zero_grad()
for i, batch in enumerate(train_loader):
    if i == usable:
        break  # an incomplete window at the end is left out on every rank alike

    boundary = i % accumulation_steps == accumulation_steps - 1
    model.require_backward_grad_sync = boundary

    output = model(batch)
    loss = criterion(output, target)
    (loss / accumulation_steps).backward()

    if boundary:
        # the one all-reduce of this update has just happened, gradients are identical on all ranks
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
