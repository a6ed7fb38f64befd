import torch

accumulation_steps = 4
warmup_updates = 5
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer,
    # counted from 1: the first update has a fifth of the rate, and the fifth one has all of it
    lambda update: min(1.0, (update + 1) / warmup_updates),
)

optimizer.zero_grad()
for epoch in range(num_epochs):
    for i, (x, y) in enumerate(train_loader):
        first = i - i % accumulation_steps
        window = min(accumulation_steps, len(train_loader) - first)
        loss = criterion(model(x), y) / window
        loss.backward()

        if i + 1 == first + window:
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()  # counts updates; after optimizer.step()
