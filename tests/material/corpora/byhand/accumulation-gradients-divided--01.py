lr = 0.1
accum = 4
params = [p for p in model.parameters() if p.requires_grad]
for epoch in range(num_epochs):
    buffers = [torch.zeros_like(p) for p in params]
    for i, (x, y) in enumerate(train_loader):
        grads = torch.autograd.grad(criterion(model(x), y), params)
        for b, g in zip(buffers, grads):
            b += g
        if (i + 1) % accum == 0:
            with torch.no_grad():
                for p, b in zip(params, buffers):
                    p -= lr * b / accum
                    b.zero_()
