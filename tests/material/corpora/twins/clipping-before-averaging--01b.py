import torch.distributed as dist

accumulation_steps = 4
params = [p for p in model.parameters()]
world = dist.get_world_size()


@torch.no_grad()
def reduce_and_clip(max_norm):
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat.div_(world)
    norm = flat.norm()
    flat.mul_((max_norm / (norm + 1e-6)).clamp(max=1.0) / world)
    offset = 0
    for p in params:
        piece = flat[offset : offset + p.numel()].view_as(p)
        p.grad.copy_(piece)
        offset += p.numel()


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        reduce_and_clip(1.0)
        optimizer.step()
        optimizer.zero_grad()
