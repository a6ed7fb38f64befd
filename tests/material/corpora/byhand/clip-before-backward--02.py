def grad_clipping(net, theta):
    params = [p for p in net.parameters() if p.requires_grad]
    norm = torch.sqrt(sum(torch.sum((p.grad ** 2)) for p in params))
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm


def sgd(params, lr):
    for param in params:
        param.data.add_(param.grad.data, alpha=-lr)
        param.grad.data.zero_()


learning_rate = 0.05
for epoch in range(num_epochs):
    for x, y in train_loader:
        l = criterion(model(x), y)
        l.backward()
        grad_clipping(model, 1.0)
        sgd(model.parameters(), learning_rate)
