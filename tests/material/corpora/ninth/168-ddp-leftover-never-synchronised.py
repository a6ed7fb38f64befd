import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4


def update():
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()


for i, (x, y) in enumerate(train_loader):
    is_last = (i + 1) % accumulation_steps == 0
    with nullcontext() if is_last else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    if is_last:
        update()

# The leftover window ran under no_sync only: synchronise its gradients by hand, then step.
leftover = len(train_loader) % accumulation_steps
if leftover:
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad.mul_(accumulation_steps / leftover)
    update()
