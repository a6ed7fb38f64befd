# no_sync() decorates the micro-step: forward and backward are both in the function that it wraps.
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def micro_step(x, y, share):
    loss = criterion(model(x), y) * share
    loss.backward()


silent_micro_step = model.no_sync()(micro_step)

total = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    start = i // accumulation_steps * accumulation_steps
    size = min(accumulation_steps, total - start)
    if i - start < size - 1:
        silent_micro_step(x, y, 1 / size)
        continue
    micro_step(x, y, 1 / size)
    optimizer.step()
    optimizer.zero_grad()
