# A batch is moved with map; the sizes of all windows are known beforehand.
import torch, math
from torch.amp import autocast, GradScaler

use_amp = torch.cuda.is_available()
dev = torch.device("cuda" if use_amp else "cpu")
scaler = GradScaler(dev.type, enabled=True)
ACC = 4
MAX = 1.0

def micro(batch, divisor):
    x, y = map(lambda t: t.to(dev), batch)
    with autocast(dev.type, dtype=torch.float16):
        return criterion(model(x), y) / divisor

n = len(train_loader)
sizes = [min(ACC, n - s) for s in range(0, n, ACC)]
data = iter(train_loader)
for size in sizes:
    total = 0.0
    for _ in range(size):
        loss = micro(next(data), size)
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX)
    if not math.isfinite(norm):
        print("overflow; scaler will skip")
    scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
