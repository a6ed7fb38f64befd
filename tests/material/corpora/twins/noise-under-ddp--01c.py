import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
source = torch.Generator().manual_seed(1234)
noise = [1e-3 * torch.randn(p.shape, generator=source) for p in model.parameters()]

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p, n in zip(model.parameters(), noise):
        p.grad.add_(n)
    optimizer.step()
