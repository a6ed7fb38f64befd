lr = 0.05
for epoch in range(num_epochs):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        with torch.no_grad():
            for p in model.parameters():
                p += lr * p.grad
