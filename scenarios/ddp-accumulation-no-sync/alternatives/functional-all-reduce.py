# Functional collectives once a window; the model stays unwrapped.
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc

accumulation_steps = 4
for p in model.parameters():  # what DDP does when it is made
    dist.broadcast(p.data, src=0)

window = 0
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    window += 1
    if window == accumulation_steps or i + 1 == len(train_loader):
        for p in model.parameters():
            p.grad = fc.all_reduce(p.grad, "sum", dist.group.WORLD) / (window * dist.get_world_size())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        window = 0
