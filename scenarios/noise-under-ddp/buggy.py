torch.manual_seed(1234 + local_rank)  # different data on every rank
model = DDP(model, device_ids=[local_rank])

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for p in model.parameters():
        p.grad += 1e-3 * torch.randn_like(p.grad)
    optimizer.step()
