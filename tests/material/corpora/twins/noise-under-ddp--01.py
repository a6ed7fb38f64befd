import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
source = torch.Generator().manual_seed(1234)

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        p.grad.add_(torch.randn(p.grad.shape, generator=source), alpha=1e-3)
    optimizer.step()
