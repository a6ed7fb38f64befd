# A generator seeded by the step, the same on every rank.
model = DDP(model, device_ids=[local_rank])
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    g = torch.Generator(device="cpu").manual_seed(1234 + step)
    for p in model.parameters():
        p.grad.add_(torch.randn(p.grad.shape, generator=g), alpha=1e-3)
    optimizer.step()
