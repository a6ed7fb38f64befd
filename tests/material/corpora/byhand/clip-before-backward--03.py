lr, max_norm = 0.05, 1.0
params = [p for p in model.parameters() if p.requires_grad]

for epoch in range(num_epochs):
    for x, y in train_loader:
        for p in params:
            p.grad = None
        criterion(model(x), y).backward()
        with torch.no_grad():
            total = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in params]))
            coef = torch.clamp(max_norm / (total + 1e-6), max=1.0)
            for p in params:
                p -= lr * coef * p.grad
