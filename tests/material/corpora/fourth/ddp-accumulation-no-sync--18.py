"""Something is off: DDP reduces in EVERY backward, so three of your four all-reduces per update are wasted. Results are
right all the same, which is why nobody noticed.

no_sync() does nothing but set the flag below and put it back; DDP reads it in forward. For a loop with one
exit I prefer to set it directly.
"""
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
n = len(train_loader)

optimizer.zero_grad(set_to_none=True)
for i, batch in enumerate(train_loader):
    begin = (i // accumulation_steps) * accumulation_steps
    end = min(begin + accumulation_steps, n)
    closing = i == end - 1

    model.require_backward_grad_sync = closing  # before the forward of this micro-batch
    output = model(batch)
    loss = criterion(output, target)
    (loss / (end - begin)).backward()

    if closing:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
