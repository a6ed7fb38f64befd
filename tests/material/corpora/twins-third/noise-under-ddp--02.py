import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1234 + local_rank)
model = DDP(model, device_ids=[local_rank])


def add_noise(std):
    for p in model.parameters():
        noise = torch.randn_like(p.grad) * std
        dist.broadcast(noise, src=0)
        p.grad += noise


step = 0
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        add_noise(1e-3 / (1 + step) ** 0.55)
        optimizer.step()
        step += 1
