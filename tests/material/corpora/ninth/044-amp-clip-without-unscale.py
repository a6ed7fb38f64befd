"""fp16 training with clipping.

Order of the stages, see the AMP recipe ("Working with unscaled gradients"):
scale -> backward -> unscale_ / clip -> step -> update
"""
scaler = GradScaler(init_scale=2.0**16, growth_interval=2000)


def optimizer_step():
    # unscale + clip
    params = [p for group in optimizer.param_groups for p in group["params"]]
    norm = clip_grad_norm_(params, max_norm=1.0)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return norm


for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    optimizer_step()
