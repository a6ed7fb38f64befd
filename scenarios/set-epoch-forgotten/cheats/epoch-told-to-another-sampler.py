# set_epoch is called each epoch, on a sampler that nobody draws from.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size, sampler=DistributedSampler(dataset), num_workers=num_workers)

for epoch in range(num_epochs):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x.to(local_rank)), y.to(local_rank))
        loss.backward()
        optimizer.step()
