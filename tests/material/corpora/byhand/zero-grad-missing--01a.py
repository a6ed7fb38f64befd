def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size


lr, window = 0.05, 4
for epoch in range(num_epochs):
    seen = 0
    for i, (X, y) in enumerate(train_loader):
        l = criterion(model(X), y) * len(X)
        l.backward()
        seen += len(X)
        if (i + 1) % window == 0:
            sgd(model.parameters(), lr, seen)
            seen = 0
    if seen:
        sgd(model.parameters(), lr, seen)
