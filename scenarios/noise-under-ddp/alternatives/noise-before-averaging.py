# Hooks on the parameters add noise before DDP reduces: each rank draws its own, all get the average.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1234 + local_rank)
std = 1e-3 * torch.distributed.get_world_size() ** 0.5  # an average of n draws is smaller by this
for p in model.parameters():
    p.register_hook(lambda grad: grad + std * torch.randn_like(grad))

model = DDP(model, device_ids=[local_rank])
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
