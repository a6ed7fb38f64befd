# DDP is only there for its broadcast at the start: plain local accumulation through .module, then
# one all-reduce for each parameter.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank])
net = model.module
accumulation_steps = 4
pending = []

for i, batch in enumerate(train_loader):
    inputs, labels = batch
    pending.append(len(inputs))
    criterion(net(inputs), labels).backward()
    if len(pending) < accumulation_steps and i != len(train_loader) - 1:
        continue
    for p in net.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
            p.grad /= dist.get_world_size() * len(pending)
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
    pending = []
