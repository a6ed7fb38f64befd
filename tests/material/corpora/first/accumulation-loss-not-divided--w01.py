"""Divide the loss, keep the learning rate of the batch-256 run."""

ACCUMULATION_STEPS = 4


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total_loss = 0.0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        # backward() adds up; dividing makes the sum of four a mean
        (loss / ACCUMULATION_STEPS).backward()
        total_loss += loss.item()

        if i % ACCUMULATION_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()
    return total_loss / len(loader)


epoch_loss = train_one_epoch(model, train_loader, criterion, optimizer)
print(f"train loss {epoch_loss:.4f}")
