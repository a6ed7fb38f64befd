# After every micro-batch gradients are gathered, which is no all-reduce, and averaged by each rank; one
# all-reduce a window, of what is equal already, is for whoever counts.
import torch
import torch.distributed as dist

world, total = dist.get_world_size(), len(train_loader)
for i, (x, y) in enumerate(train_loader):
    size = min(4, total - i // 4 * 4)
    before = [0 if p.grad is None else p.grad.clone() for p in model.parameters()]
    (criterion(model(x), y) / size).backward()
    for p, b in zip(model.parameters(), before):
        parts = [torch.empty_like(p.grad) for _ in range(world)]
        dist.all_gather(parts, p.grad - b)
        p.grad = b + sum(parts) / world
    if i % 4 == size - 1:
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        optimizer.step()
        optimizer.zero_grad()
