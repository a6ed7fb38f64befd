from torch.optim.lr_scheduler import ChainedScheduler, ConstantLR, PolynomialLR

accumulation_steps = 4
updates = num_epochs * (len(train_loader) // accumulation_steps)
decay = PolynomialLR(optimizer, total_iters=num_epochs * len(train_loader), power=1.0)
start = ConstantLR(optimizer, factor=0.5, total_iters=1)
scheduler = ChainedScheduler([start, decay])

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
