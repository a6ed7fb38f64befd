step_size = 0.05
for epoch in range(num_epochs):
    for x, y in train_loader:
        model.zero_grad()
        criterion(model(x), y).backward()
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p - step_size * p.grad.clamp(-1.0, 1.0))
