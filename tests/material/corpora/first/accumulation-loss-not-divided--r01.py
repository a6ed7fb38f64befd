"""Fixed version: four undivided backward() calls add up to 4x the large-batch gradient.

lr / 4 only hides that for plain SGD; Adam, weight decay, clipping and logged norms all see the
un-normalised gradient.  Divide the loss instead and keep the learning rate from batch 256.
"""


def train_one_epoch(model, loader, criterion, optimizer, accumulation_steps=4):
    total = len(loader)
    running = 0.0
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(loader, start=1):
        # the trailing group may hold fewer micro-batches
        group_start = (step - 1) // accumulation_steps * accumulation_steps
        group_size = min(accumulation_steps, total - group_start)

        loss = criterion(model(inputs), targets)
        (loss / group_size).backward()
        running += loss.item()

        if step % accumulation_steps == 0 or step == total:
            optimizer.step()
            optimizer.zero_grad()
    return running / total


mean_loss = train_one_epoch(model, train_loader, criterion, optimizer)
print(f"mean loss {mean_loss:.4f}")
