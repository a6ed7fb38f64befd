# The part of a rank is a subset that is drawn anew, and a loader for it.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])


def part_of(epoch):
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(epoch)).tolist()
    order += order[: -len(order) % world_size]
    return Subset(dataset, order[rank::world_size])



for epoch in range(num_epochs):
    for x, y in DataLoader(part_of(epoch), batch_size, num_workers=num_workers):
        optimizer.zero_grad()
        loss = criterion(model(x.to(local_rank)), y.to(local_rank))
        loss.backward()
        optimizer.step()
