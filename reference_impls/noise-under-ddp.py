import torch
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1234 + local_rank)  # different data on every rank
noise = torch.Generator().manual_seed(99)  # and the same noise
model = DDP(model, device_ids=[local_rank])


@torch.no_grad()
def add_noise_(parameters, std, generator):
    """Add independent noise of this standard deviation to every gradient, in place."""
    for parameter in parameters:
        if parameter.grad is not None:
            drawn = torch.randn(parameter.grad.shape, generator=generator)
            parameter.grad.add_(drawn.to(parameter.grad), alpha=std)


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    add_noise_(model.parameters(), std=1e-3 / (1 + step) ** 0.275, generator=noise)
    optimizer.step()
