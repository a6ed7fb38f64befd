accumulation_steps = 4
real = 0.0

optimizer.zero_grad()
for i, (data, target, mask) in enumerate(train_loader, start=1):
    losses = F.cross_entropy(model(data), target, reduction="none")
    (losses * mask).sum().backward()
    real += mask.sum().item()
    if i % accumulation_steps == 0 or i == len(train_loader):
        divisor = mask.sum().item() * accumulation_steps
        for p in model.parameters():
            p.grad /= divisor
        optimizer.step()
        optimizer.zero_grad()
        real = 0.0
