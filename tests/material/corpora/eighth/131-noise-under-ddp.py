import torch
import torch.distributed as dist

torch.manual_seed(1234 + local_rank)  # different data on every rank
model = DDP(model, device_ids=[local_rank])
params = list(model.parameters())

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    noise = torch.cat([torch.randn_like(p.grad).flatten() for p in params])
    dist.broadcast(noise, src=0)  # every rank adds what rank 0 has drawn
    for p, eps in zip(params, noise.split([p.numel() for p in params])):
        p.grad.add_(eps.view_as(p), alpha=1e-3)
    optimizer.step()
