scaler = GradScaler()


def true_norm(params, scale):
    """Norm in true units, for the log."""
    grads = [p.grad.div_(scale) for p in params]
    return sum(g.norm() ** 2 for g in grads) ** 0.5


for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    norm = true_norm(model.parameters(), scaler.get_scale())
    print(f"norm {norm:.2f}")

    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
