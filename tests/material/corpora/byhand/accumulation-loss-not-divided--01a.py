lr = 0.1
accumulation_steps = 4
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y)
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            with torch.no_grad():
                for p in model.parameters():
                    p -= lr * p.grad
                    p.grad = None
    model.zero_grad()
