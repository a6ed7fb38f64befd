# Centralised gradients are bound anew instead of changed in place.
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None and p.grad.dim() > 1:
            p.grad = p.grad - p.grad.mean(dim=tuple(range(1, p.grad.dim())), keepdim=True)
    optimizer.step()
