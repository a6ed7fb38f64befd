# The sum over ranks is clipped at the threshold times their number, and divided after that: the same thing.
import torch
import torch.distributed as dist

world = dist.get_world_size()
batches = list(train_loader)
for start in range(0, len(batches), 4):
    window = batches[start : start + 4]
    for x, y in window:
        (criterion(model(x), y) / len(window)).backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0 * world)
    for p in model.parameters():
        p.grad.div_(world)
    optimizer.step()
    optimizer.zero_grad()
