

limit = 1.0
previous = 1.0
optimizer.zero_grad()
for step, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    if norm > 1e3:
        print(f"step {step}: norm {norm:.1f}, skipped")
        continue
    optimizer.step()
    optimizer.zero_grad()
