"""Gradient noise that DDP averages together with the gradients.

Tensor hooks run before the reducer takes the gradient, so each rank may draw its own noise:
what every rank applies is the mean.  The mean of W draws is sqrt(W) smaller, hence the factor.
"""
import torch
import torch.distributed as dist

torch.manual_seed(1234 + local_rank)  # different data on every rank
model = DDP(model, device_ids=[local_rank])
sigma = 1e-3 * dist.get_world_size() ** 0.5

for p in model.parameters():
    p.register_hook(lambda grad: grad + sigma * torch.randn_like(grad))

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
