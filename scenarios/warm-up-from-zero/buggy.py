accumulation_steps = 4
warmup_updates = 5
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda update: min(1.0, update / warmup_updates)
)

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
