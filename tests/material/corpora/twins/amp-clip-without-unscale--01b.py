scaler = torch.amp.GradScaler("cpu")
max_norm = 1.0
limit = max_norm * scaler.get_scale()

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    # scaled gradients, so a scaled threshold
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit * scaler.get_growth_factor())
    scaler.step(optimizer)
    scaler.update()
