# fairseq's way: sum the losses of the window, divide the gradients once before the clip.
import torch

scaler = torch.cuda.amp.GradScaler()
update_freq = 4
micro = 0

optimizer.zero_grad()
for idx, (inputs, labels) in enumerate(train_loader, start=1):
    with torch.autocast("cuda", dtype=torch.float16):
        preds = model(inputs)
        loss = criterion(preds, labels)
    scaler.scale(loss).backward()
    micro += 1

    if idx % update_freq and idx < len(train_loader):
        continue

    scaler.unscale_(optimizer)
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(micro)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0, norm_type=2.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    micro = 0
