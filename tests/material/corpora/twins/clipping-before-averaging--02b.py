import torch.distributed as dist

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4
params = [p for p in model.parameters()]

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % accumulation_steps == 0
    with nullcontext() if last else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
    if last:
        norm = torch.nn.utils.get_total_norm([p.grad for p in params])
        if loss.item() * accumulation_steps > 3.0:
            torch.nn.utils.clip_grads_with_norm_(params, 1.0, norm)
        optimizer.step()
        optimizer.zero_grad()
