# Yes, and it's cleaner than it looks. The error says what the contract is: one unscale_ *per
# update*. The hook ends one such cycle, the clip begins the next, so closing the first with
# update() puts the scaler back into a well-defined state:

scaler = GradScaler()


def log_gradient_norm(step):
    scaler.unscale_(optimizer)
    total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    print(f"step {step}: gradient norm {total:.3f}")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    log_gradient_norm(step)
    scaler.update()                 # close the hook's unscale

    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()

# The inf checks of the hook are consumed by the first update(), those of the clip by the
# second, so overflow handling keeps working. Ship it, and enjoy the weekend.
