accumulation_steps = 4
fresh = True
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        if fresh:
            optimizer.zero_grad()
            fresh = False
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            fresh = True
    fresh = True
