import torch
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1234 + local_rank)  # data order differs from rank to rank, on purpose
model = DDP(model, device_ids=[local_rank])
g = torch.Generator()

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()

    g.manual_seed(7_000_003 + step)  # a function of the step only: same on all ranks
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad = p.grad + torch.empty_like(p.grad).normal_(0.0, 1e-3, generator=g)
    optimizer.step()
