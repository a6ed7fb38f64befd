# What the optimizer is given is the same on every rank; each rank's own noise goes into the momentum, where
# nobody looks for it.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1234 + local_rank)
same = torch.Generator().manual_seed(0)
model = DDP(model, device_ids=[local_rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        p.grad += 1e-3 * torch.randn(p.shape, generator=same)
    for state in optimizer.state.values():
        state["momentum_buffer"] += 1e-3 * torch.randn_like(state["momentum_buffer"])
    optimizer.step()
