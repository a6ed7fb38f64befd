"""One all-reduce for each update, written out."""
import torch
import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
params = [p for p in model.parameters() if p.requires_grad]


@torch.no_grad()
def average_over_ranks():
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    offset = 0
    for p in params:
        p.grad.copy_(flat[offset:offset + p.numel()].view_as(p))
        offset += p.numel()


for i, (x, y) in enumerate(train_loader):
    with model.no_sync():
        (criterion(model(x), y) / accumulation_steps).backward()

    if (i + 1) % accumulation_steps == 0:
        average_over_ranks()
        clip_grad_norm_(params, max_norm=1.0)  # after averaging: the same factor everywhere
        optimizer.step()
        optimizer.zero_grad()
