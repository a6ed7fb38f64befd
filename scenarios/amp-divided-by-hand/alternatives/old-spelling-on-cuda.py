# The scaler's older name, moves to the device, several epochs.
scaler = torch.cuda.amp.GradScaler()
for epoch in range(num_epochs):
    for x, y in train_loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            out = model(x)
            loss = criterion(out, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
