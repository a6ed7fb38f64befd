# The sampler is made anew, with a seed of its own; so is the loader.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])


def epoch_loader(epoch):
    sampler = DistributedSampler(dataset, world_size, rank, shuffle=True, seed=seed + epoch)
    return DataLoader(dataset, batch_size, sampler=sampler, num_workers=num_workers)



for epoch in range(num_epochs):
    for x, y in epoch_loader(epoch):
        optimizer.zero_grad()
        loss = criterion(model(x.to(local_rank)), y.to(local_rank))
        loss.backward()
        optimizer.step()
