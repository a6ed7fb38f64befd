model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps

    if (i + 1) % accumulation_steps != 0:
        with model.no_sync():
            loss.backward()
    else:
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
