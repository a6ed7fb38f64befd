import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")
unscaled = False


def ensure_unscaled():
    global unscaled
    if not unscaled:
        scaler.unscale_(optimizer)
        unscaled = True


def log_gradient_norm(step):
    ensure_unscaled()
    total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    print(f"step {step}: gradient norm {total:.3f}")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    if step % 2 == 0:
        log_gradient_norm(step)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    unscaled = False
