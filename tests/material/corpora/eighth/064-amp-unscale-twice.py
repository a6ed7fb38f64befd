scaler = GradScaler()


def unscale_once():
    done = False

    def unscale():
        nonlocal done
        if not done:
            scaler.unscale_(optimizer)
            done = True

    return unscale


def log_gradient_norm(step, unscale):
    unscale()
    total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    print(f"step {step}: gradient norm {total:.3f}")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    unscale = unscale_once()
    log_gradient_norm(step, unscale)
    unscale()
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
