from torch.optim.lr_scheduler import LambdaLR, SequentialLR

accumulation_steps = 4
warmup = 2
first = LambdaLR(optimizer, lambda u: min(1.0, (u + 1) / warmup))
second = LambdaLR(optimizer, lambda u: 1.0)
scheduler = SequentialLR(optimizer, [first, second], milestones=[2])

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        scheduler.step()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
