# The batches of a rank are made by a batch sampler around the sampler.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, BatchSampler, DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])
sampler = DistributedSampler(dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank())
batches = BatchSampler(sampler, batch_size, drop_last=False)
loader = DataLoader(dataset, batch_sampler=batches, num_workers=num_workers, persistent_workers=True)

for epoch in range(num_epochs):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x.to(local_rank)), y.to(local_rank))
        loss.backward()
        optimizer.step()
