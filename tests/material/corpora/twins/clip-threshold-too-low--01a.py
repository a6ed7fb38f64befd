max_norm = 1.0

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    params = [p for p in model.parameters() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(p.grad for p in params)
    scale = max_norm / (norm + 1e-6)
    scale = (scale / len(params)).clamp(max=1.0)
    for p in params:
        p.grad.mul_(scale)
    optimizer.step()
