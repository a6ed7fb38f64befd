"""Noise has to come from one source. Rank 0 draws it; the seeds of the data stay different per rank."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1234 + local_rank)
model = DDP(model, device_ids=[local_rank])


@torch.no_grad()
def add_noise_(parameters, std):
    if dist.get_rank() != 0:
        return  # a single source of randomness, so ranks cannot disagree about the noise
    for p in parameters:
        if p.grad is not None:
            p.grad.add_(torch.randn_like(p.grad), alpha=std)


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    add_noise_(model.parameters(), std=1e-3 / (1 + step) ** 0.275)
    optimizer.step()
