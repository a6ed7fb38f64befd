# One flat all-reduce; the norm is the root of the sum of squares, and one multiplication of all gradients
# clips them.
import torch
import torch.distributed as dist

params = [p for p in model.parameters() if p.requires_grad]
sizes = [p.numel() for p in params]
waiting, total = 0, len(train_loader)
for i, (x, y) in enumerate(train_loader):
    criterion(model(x), y).backward()
    waiting += 1
    if waiting < 4 and i + 1 < total:
        continue
    flat = torch.cat([p.grad.view(-1) for p in params])
    dist.all_reduce(flat)
    flat /= waiting * dist.get_world_size()
    factor = min(1.0, 1.0 / (flat.square().sum().sqrt().item() + 1e-6))
    for p, part in zip(params, flat.split(sizes)):
        p.grad.copy_(part.view_as(p))
    torch._foreach_mul_([p.grad for p in params], factor)
    optimizer.step()
    optimizer.zero_grad()
    waiting = 0
