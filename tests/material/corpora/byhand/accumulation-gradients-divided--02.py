params = list(model.parameters())
lr = 0.05
momentum = 0.5
velocity = [torch.zeros_like(p) for p in params]
k = 4
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        criterion(model(x), y).backward()
        if (i + 1) % k == 0:
            with torch.no_grad():
                for p, v in zip(params, velocity):
                    p.grad /= k
                    v.mul_(momentum).add_(p.grad)
                    p -= lr * v
            for p in params:
                p.grad.zero_()
    for p in params:
        p.grad.zero_()
