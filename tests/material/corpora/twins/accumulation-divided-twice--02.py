accumulation_steps = 4
params = [p for p in model.parameters() if p.requires_grad]

for epoch in range(num_epochs):
    buffers = [torch.zeros_like(p) for p in params]
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        grads = torch.autograd.grad(loss, params)
        torch._foreach_add_(buffers, list(grads))
        if (i + 1) % accumulation_steps == 0:
            for p, g in zip(params, buffers):
                p.grad = g.clone()
            optimizer.step()
            torch._foreach_zero_(buffers)
