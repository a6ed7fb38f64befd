scaler = GradScaler()
params = list(model.parameters())

for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in params])
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grads_with_norm_(params, 1.0, norm)
    scaler.step(optimizer)
    scaler.update()
