import torch

accumulation_steps = 4
updates_per_epoch = -(-len(train_loader) // accumulation_steps)  # the short last window counts
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
    optimizer, T_max=num_epochs * updates_per_epoch
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
            scheduler.step()  # counts updates, and so does T_max
