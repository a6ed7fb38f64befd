accumulation_steps = 4

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
