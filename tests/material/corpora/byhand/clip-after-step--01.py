lr = 0.05
for epoch in range(num_epochs):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for p in model.parameters():
            p.data = p.data - lr * p.grad
            p.grad = None
