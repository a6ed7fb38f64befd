lr, wd = 0.05, 1e-2
accumulation_steps = 4
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
            with torch.no_grad():
                for p in model.parameters():
                    p.mul_(1 - lr * wd)
                    p.add_(p.grad, alpha=-lr)
            model.zero_grad()
