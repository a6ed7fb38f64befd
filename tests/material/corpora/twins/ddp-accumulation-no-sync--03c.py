import torch.distributed as dist

accumulation_steps = 4
rank, world = dist.get_rank(), dist.get_world_size()

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        for p in model.parameters():
            pass
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        with torch.no_grad():
            for p in model.parameters():
                dist.all_reduce(p)
                p /= world
        optimizer.zero_grad()
