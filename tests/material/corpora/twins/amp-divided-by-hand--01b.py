scaler = GradScaler()
inverse = 1.0 / scaler.get_scale()

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]) * inverse
    factor = min(1.0, 1.0 / (norm.item() + 1e-6))
    for p in model.parameters():
        p.grad.mul_(factor)
    scaler.step(optimizer)
    scaler.update()
