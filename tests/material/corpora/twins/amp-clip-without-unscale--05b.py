scaler = GradScaler()

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    if norm > 1.0 / scaler.get_scale() and norm > 10.0:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, norm)
    scaler.step(optimizer)
    scaler.update()
