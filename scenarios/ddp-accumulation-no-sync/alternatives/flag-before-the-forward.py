# No context manager: the flag that DDP reads in forward is set by hand, as nanoGPT does.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
n_batches = len(train_loader)

for i, (inputs, labels) in enumerate(train_loader):
    begin = i - i % accumulation_steps
    size = min(accumulation_steps, n_batches - begin)
    boundary = i + 1 - begin == size

    model.require_backward_grad_sync = boundary
    loss = criterion(model(inputs), labels) / size
    loss.backward()

    if boundary:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
