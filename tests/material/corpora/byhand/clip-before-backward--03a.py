lr, max_norm = 0.05, 1.0
params = [p for p in model.parameters() if p.requires_grad]

for epoch in range(num_epochs):
    for x, y in train_loader:
        for p in params:
            p.grad = None
        criterion(model(x), y).backward()
        with torch.no_grad():
            for p in params:
                coef = torch.clamp(max_norm / (p.grad.norm() + 1e-6), max=1.0)
                p -= lr * coef * p.grad
