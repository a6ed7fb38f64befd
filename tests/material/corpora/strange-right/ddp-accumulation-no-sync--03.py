import torch
from contextlib import nullcontext
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

accumulation_steps = 4
ddp_model = DDP(model, device_ids=[local_rank])
zero = ZeroRedundancyOptimizer(
    ddp_model.parameters(), optimizer_class=torch.optim.SGD, lr=optimizer.param_groups[0]["lr"]
)

for i, (inputs, target) in enumerate(train_loader):
    start = i - i % accumulation_steps
    window = min(accumulation_steps, len(train_loader) - start)
    last = i + 1 == start + window
    with nullcontext() if last else ddp_model.no_sync():
        loss = criterion(ddp_model(inputs), target) / window
        loss.backward()
    if last:
        torch.nn.utils.clip_grad_norm_(ddp_model.parameters(), max_norm=1.0)
        zero.step()
        zero.zero_grad(set_to_none=True)
