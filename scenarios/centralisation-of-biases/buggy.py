def centralize(grad):
    axes = tuple(range(1, grad.ndim))
    return grad - grad.mean(dim=axes, keepdim=True)


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for p in model.parameters():
        p.grad = centralize(p.grad)
    optimizer.step()
