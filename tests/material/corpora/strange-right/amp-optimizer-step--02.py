import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda", init_scale=2.0**16, growth_interval=1000)

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    with autocast("cuda", dtype=torch.float16):
        prediction = model(x)
        loss = criterion(prediction, y)

    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)

    before = scaler.get_scale()
    retval = scaler.step(optimizer)
    scaler.update()
    if (skipped := scaler.get_scale() < before):
        print(f"overflow: update skipped, scale {before:.0f} -> {scaler.get_scale():.0f}")
    else:
        print(f"norm {norm.item():.3f}, loss {loss.item():.4f}")
