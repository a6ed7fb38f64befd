accumulation_steps = 4
step = 0

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        step += 1
        if step % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    if step % accumulation_steps:
        optimizer.step()
        optimizer.zero_grad()
        step = 0
