# The posted order, under a scale of 1 that never grows: there is no factor left to take out, and
# nothing left of what a scaler is for.
import torch

scaler = torch.amp.GradScaler("cuda", init_scale=1.0, growth_interval=10**9)

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
