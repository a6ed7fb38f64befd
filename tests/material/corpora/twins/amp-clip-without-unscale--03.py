scaler = GradScaler()
params = [p for p in model.parameters() if p.requires_grad]


def bound(*_):
    torch.nn.utils.clip_grad_norm_(params, 1.0)


optimizer.register_step_pre_hook(bound)
for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
