model = DDP(model, device_ids=[local_rank])
step = 0
for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        source = torch.Generator().manual_seed(7 + epoch)
        for p in model.parameters():
            p.grad += 1e-3 * torch.randn(p.grad.shape, generator=source)
        optimizer.step()
        step += 1
