from contextlib import nullcontext

model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    boundary = (i + 1) % accumulation_steps == 0
    with nullcontext() if boundary else model.no_sync():
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()  # at the boundary DDP averages what has accumulated

    if boundary:
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
