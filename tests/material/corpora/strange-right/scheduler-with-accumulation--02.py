import torch

K = 4
updates = num_epochs * ((len(train_loader) + K - 1) // K)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=optimizer.param_groups[0]["lr"], total_steps=updates, pct_start=0.3, cycle_momentum=False
)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    micro = 0
    for x, y in train_loader:
        group_start = micro // K * K
        loss = criterion(model(x), y) / min(K, len(train_loader) - group_start)
        loss.backward()
        micro += 1
        if micro % K and micro < len(train_loader):
            continue
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
