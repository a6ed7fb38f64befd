# optimizer.step() may stay where nothing that overflowed gets there: each gradient is asked first.
import torch

scaler = torch.amp.GradScaler("cuda")
skipped = 0

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    finite = all(p.grad.isfinite().all() for p in model.parameters())
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    if finite:
        optimizer.step()
    else:
        skipped += 1
    scaler.update()
print(f"{skipped} updates overflowed and were skipped")
