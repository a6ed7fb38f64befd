# Workers that stay are told the order by the main process, so the epoch reaches them.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(local_rank)
model = DDP(model.to(local_rank), device_ids=[local_rank])
sampler = DistributedSampler(dataset, shuffle=True, drop_last=False)
loader = DataLoader(dataset, batch_size, sampler=sampler, num_workers=2, persistent_workers=True)
epoch = 0

while epoch < num_epochs:
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        loss = criterion(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    epoch += 1
