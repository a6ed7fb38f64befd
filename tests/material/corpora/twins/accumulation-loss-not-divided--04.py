accumulation_steps = 4
size = accumulation_steps
handles = [p.register_hook(lambda g: g / size) for p in model.parameters()]

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        criterion(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
