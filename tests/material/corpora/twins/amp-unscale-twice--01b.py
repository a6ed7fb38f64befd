scaler = GradScaler()
params = list(model.parameters())
opt_a = torch.optim.SGD(params[:2], lr=0.05)
opt_b = torch.optim.SGD(params[2:], lr=0.05)

for x, y in train_loader:
    opt_a.zero_grad()
    opt_b.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt_a)
    scaler.unscale_(opt_b)
    torch.nn.utils.clip_grad_norm_(opt_a.param_groups[0]["params"], max_norm=1.0)
    scaler.step(opt_a)
    scaler.step(opt_b)
    scaler.update()
