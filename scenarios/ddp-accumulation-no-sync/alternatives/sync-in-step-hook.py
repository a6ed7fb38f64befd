# A pre-step hook averages over the ranks and clips; the loop itself is the single-GPU one.
import torch
import torch.distributed as dist

accumulation_steps = 4


def reduce_and_clip(opt, args, kwargs):
    params = [p for group in opt.param_groups for p in group["params"] if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat.div_(dist.get_world_size())
    offset = 0
    for p in params:
        p.grad.copy_(flat[offset : offset + p.numel()].view_as(p))
        offset += p.numel()
    torch.nn.utils.clip_grad_norm_(params, 1.0)


optimizer.register_step_pre_hook(reduce_and_clip)

steps = len(train_loader)
for i, (x, y) in enumerate(train_loader):
    size = min(accumulation_steps, steps - i // accumulation_steps * accumulation_steps)
    (criterion(model(x), y) / size).backward()
    if i % accumulation_steps == size - 1:
        optimizer.step()
        optimizer.zero_grad()
