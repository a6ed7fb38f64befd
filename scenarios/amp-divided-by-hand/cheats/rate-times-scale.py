# The posted loop; whatever the second division takes, the learning rate gives back.
import torch

scaler = torch.amp.GradScaler("cuda")

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    for group in optimizer.param_groups:
        group["lr"] *= scaler.get_scale()
    scaler.step(optimizer)
    for group in optimizer.param_groups:
        group["lr"] /= scaler.get_scale()
    scaler.update()
