# The position in the window decides by pattern what happens.
import torch

scaler = torch.amp.GradScaler("cuda")
accumulation_steps = 4
last_index = len(train_loader) - 1
window_sizes = [accumulation_steps] * (len(train_loader) // accumulation_steps)
if rest := len(train_loader) % accumulation_steps:
    window_sizes.append(rest)

for index, (features, labels) in enumerate(train_loader):
    number, position = divmod(index, accumulation_steps)
    size = window_sizes[number]

    match position:
        case 0:
            optimizer.zero_grad()
        case _:
            pass

    with torch.autocast("cuda", dtype=torch.float16, enabled=True):
        loss = criterion(model(features), labels).mean() / size
    scaler.scale(loss).backward()

    match position + 1:
        case full if full == size:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        case _:
            continue
