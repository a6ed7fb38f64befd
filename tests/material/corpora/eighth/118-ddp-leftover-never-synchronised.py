import torch
import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
rest = len(train_loader) % accumulation_steps


def update(average: bool = False) -> None:
    params = list(model.parameters())
    clip_grad_norm_(params, max_norm=1.0)
    if average:
        for p in params:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
    optimizer.step()
    optimizer.zero_grad()


for i, (x, y) in enumerate(train_loader):
    in_rest = i >= len(train_loader) - rest
    is_last = (i + 1) % accumulation_steps == 0
    with nullcontext() if is_last else model.no_sync():
        loss = criterion(model(x), y) / (rest if in_rest else accumulation_steps)
        loss.backward()
    if is_last:
        update()

# leftover batches of the epoch were accumulated without communication
if rest:
    update(average=True)
