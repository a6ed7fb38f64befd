from contextlib import nullcontext

from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    # The last window of an epoch can be shorter; it is synchronised like any other.
    first = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - first)
    last = i + 1 == first + window

    # Through the wrapper, never model.module: its forward is what arranges the reduction.
    with nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / window
        loss.backward()

    if last:
        optimizer.step()
        optimizer.zero_grad()
