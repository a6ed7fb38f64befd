accumulation_steps = 4
max_norm = 1.0

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(model(x), y) / accumulation_steps).backward()
    if (i + 1) % accumulation_steps == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        optimizer.zero_grad()
