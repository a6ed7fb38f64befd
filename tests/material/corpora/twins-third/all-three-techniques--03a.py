import torch
from torch.amp import GradScaler, autocast

scaler = GradScaler("cuda")
accumulation_steps = 4
max_norm = 1.0


def steps(loader):
    total = len(loader)
    for i, batch in enumerate(loader):
        begin = i // accumulation_steps * accumulation_steps
        yield i == begin, min(total, begin + accumulation_steps) - begin, batch


for epoch in range(num_epochs):
    count = 0
    for first, size, (inputs, labels) in steps(train_loader):
        if first:
            optimizer.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=torch.float16):
            outputs = model(inputs)
            loss = criterion(outputs, labels) / size
        (loss * 65536.0 if epoch else scaler.scale(loss)).backward()
        count += 1
        if count < size:
            continue
        count = 0
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
