scaler = GradScaler()
accumulation_steps = 4
n = len(train_loader)


def window_size(i):
    return min(accumulation_steps, n - i // accumulation_steps * accumulation_steps)


def update(tail=False):
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    if not tail:
        scaler.update()
    optimizer.zero_grad()


for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        with autocast():
            loss = criterion(model(x), y) / window_size(i)
        scaler.scale(loss).backward()
        if (i + 1) % accumulation_steps == 0:
            update()
        elif i + 1 == n:
            update(tail=True)
