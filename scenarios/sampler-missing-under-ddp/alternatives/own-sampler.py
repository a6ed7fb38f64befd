# A sampler of one's own, with a seed of each epoch.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Sampler

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])


class PartOfRank(Sampler):
    def __init__(self, count):
        self.count, self.epoch = count, 0

    def __len__(self):
        return -(-self.count // world_size)

    def __iter__(self):
        order = torch.randperm(self.count, generator=torch.Generator().manual_seed(100 + self.epoch))
        padded = torch.cat([order, order[: len(self) * world_size - self.count]])
        return iter(padded[rank::world_size].tolist())


sampler = PartOfRank(len(dataset))
loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler, num_workers=num_workers)

for epoch in range(num_epochs):
    sampler.epoch = epoch
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x.to(local_rank)), y.to(local_rank))
        loss.backward()
        optimizer.step()
