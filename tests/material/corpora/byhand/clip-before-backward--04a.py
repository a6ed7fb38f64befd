lr = 0.05
params = list(model.parameters())
for epoch in range(num_epochs):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        grads = torch.autograd.grad(loss, params)
        norm = torch.sqrt(sum((g * g).sum() for g in grads))
        if norm > 1.0:
            clipped = [g / norm for g in grads]
        with torch.no_grad():
            for p, g in zip(params, grads):
                p.sub_(lr * g)
