# By hand, with .data: the factor is exactly 1 below the threshold.
max_norm = 1.0

for batch, labels in train_loader:
    model.zero_grad()
    loss = criterion(model(batch), labels)
    loss.backward()
    total_norm = sum(p.grad.data.norm(2).item() ** 2 for p in model.parameters()) ** 0.5
    factor = min(1.0, max_norm / (total_norm + 1e-6))
    if factor < 1.0:
        for p in model.parameters():
            p.grad.data.mul_(factor)
    optimizer.step()
