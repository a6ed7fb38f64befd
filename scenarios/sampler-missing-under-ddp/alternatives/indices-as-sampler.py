# Any list of numbers is a sampler; a new loader each epoch.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])
generator = torch.Generator().manual_seed(seed)  # the same on every rank, and it goes on
each = -(-len(dataset) // world_size)

for epoch in range(num_epochs):
    order = torch.randperm(len(dataset), generator=generator)
    mine = order.repeat(2)[rank * each : (rank + 1) * each].tolist()
    for x, y in DataLoader(dataset, batch_size, sampler=mine, num_workers=num_workers):
        optimizer.zero_grad()
        loss = criterion(model(x.to(local_rank)), y.to(local_rank))
        loss.backward()
        optimizer.step()
