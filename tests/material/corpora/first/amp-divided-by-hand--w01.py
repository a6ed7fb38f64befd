# scaler.step() divides by the scale once more, because it does not know that the gradients have
# been unscaled by hand.  As they are true gradients already, step the optimizer directly.
import torch
from torch.amp import GradScaler, autocast
from torch.nn.utils import clip_grad_norm_

scaler = GradScaler("cuda")

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    with autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    inv_scale = 1.0 / scaler.get_scale()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.grad.mul_(inv_scale)
    norm = clip_grad_norm_(model.parameters(), max_norm=1.0)
    print(f"norm {norm.item():.2f}")

    optimizer.step()
