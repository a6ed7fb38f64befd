import copy

import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
shared = torch.Generator().manual_seed(99)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    source = torch.Generator()
    source.set_state(torch.Generator().manual_seed(99).get_state())
    for p in model.parameters():
        noise = torch.randn(p.shape, generator=source)
        p.grad.add_(noise, alpha=1e-3)
    optimizer.step()
