import torch
from torch.nn.utils import clip_grad_norm_

device_type = "cuda" if torch.cuda.is_available() else "cpu"
accumulation_steps = 4
scaler = torch.amp.GradScaler(device_type)


def ensure_unscaled():
    """True gradients, whoever asks first."""
    try:
        scaler.unscale_(optimizer)
    except RuntimeError:
        pass  # already unscaled in this window


def grad_norm():
    ensure_unscaled()
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm()


optimizer.zero_grad(set_to_none=True)
for i, (x, y) in enumerate(train_loader):
    with torch.amp.autocast(device_type):
        loss = criterion(model(x), y)
    scaler.scale(loss / accumulation_steps).backward()
    print(f"{i}: loss {loss.item():.4f}, accumulated norm {grad_norm():.4f}")

    if (i + 1) % accumulation_steps == 0:
        ensure_unscaled()
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
