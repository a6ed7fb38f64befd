import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    # Once; from here on everybody reads true gradients.
    scaler.unscale_(optimizer)
    # Returns the norm before clipping, so the log needs no pass of its own.
    total_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    print(f"step {step}: gradient norm {total_norm:.3f}")

    scaler.step(optimizer)
    scaler.update()
