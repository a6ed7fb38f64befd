model = DDP(model, device_ids=[local_rank])
accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    output = model.module.forward(x)
    loss = criterion(output, y) / accumulation_steps
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
