import torch

accumulation_steps = 4
warmup_updates = 5
EPS = 1e-12  # never exactly zero


def ramp(update: int) -> float:
    """Linear warm-up that is positive from the first update on."""
    return min(1.0, max(EPS, update / warmup_updates))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, ramp)

for epoch in range(num_epochs):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()

        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
