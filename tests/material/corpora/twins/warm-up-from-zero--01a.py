accumulation_steps = 4
warmup_updates = 5
matrices = [p for p in model.parameters() if p.ndim > 1]
vectors = [p for p in model.parameters() if p.ndim == 1]
optimizer = torch.optim.SGD([{"params": matrices}, {"params": vectors}], lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer,
    [
        lambda update: min(1.0, (update + 1) / warmup_updates),
        lambda update: min(1.0, (update + 0) / warmup_updates),
    ],
)

for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
