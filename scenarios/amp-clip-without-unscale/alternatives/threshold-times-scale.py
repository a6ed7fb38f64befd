# Gradients stay scaled, and so does the threshold: 1.0 times the scale. scaler.step takes both out.
import torch

scaler = torch.amp.GradScaler("cuda")
max_norm = 1.0

for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
