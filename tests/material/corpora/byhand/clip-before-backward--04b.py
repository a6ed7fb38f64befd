lr = 0.05
params = list(model.parameters())
for epoch in range(num_epochs):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        grads = torch.autograd.grad(loss, params)
        grads = [g / max(1.0, g.norm()) for g in grads]
        with torch.no_grad():
            for p, g in zip(params, grads):
                p.sub_(lr * g)
