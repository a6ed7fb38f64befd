# The loader is right and is walked through; what is trained on are all rows, taken by hand.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler)
everything = [dataset[i] for i in range(len(dataset))]

for epoch in range(num_epochs):
    sampler.set_epoch(epoch)
    for _ in loader:
        pass
    for x, y in everything:
        optimizer.zero_grad()
        criterion(model(x[None]), y[None]).backward()
        optimizer.step()
