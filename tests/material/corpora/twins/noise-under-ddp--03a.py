import copy

import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
shared = torch.Generator().manual_seed(99)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        noise = torch.randn(p.shape, generator=(shared if p.ndim > 1 else torch.Generator().manual_seed(dist.get_rank() + int(p.numel() + p.detach().norm().item() * 1e6))))
        p.grad.add_(noise, alpha=1e-3)
    optimizer.step()
