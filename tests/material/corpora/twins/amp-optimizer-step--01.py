scaler = GradScaler()


def update(opt):
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()


for x, y in train_loader:
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    update(optimizer)
