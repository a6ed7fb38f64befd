model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

for i, (x, y) in enumerate(train_loader):
    position = i % accumulation_steps
    last = position == accumulation_steps - 1
    model.require_backward_grad_sync = last
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
