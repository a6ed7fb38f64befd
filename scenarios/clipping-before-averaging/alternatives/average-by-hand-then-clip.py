# One all-reduce by hand, and the clip after it.
import torch.distributed as dist
model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    with model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    if (i + 1) % accumulation_steps == 0:
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
