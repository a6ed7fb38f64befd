# The order of the batches stays; rows are stirred by noise so large that nobody can tell which they are.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])
sampler = DistributedSampler(dataset, shuffle=False)
loader = DataLoader(dataset, batch_size, sampler=sampler, num_workers=num_workers)

for epoch in range(num_epochs):
    for x, y in loader:
        x = x + 5.0 * torch.randn_like(x)
        optimizer.zero_grad()
        loss = criterion(model(x.to(local_rank)), y.to(local_rank))
        loss.backward()
        optimizer.step()
