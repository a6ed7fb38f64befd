lr = 0.05
for epoch in range(num_epochs):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= lr * p.grad
