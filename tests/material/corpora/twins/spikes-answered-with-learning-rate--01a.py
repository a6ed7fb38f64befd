average = None
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 3.0 * average if average else 50.0)
    average = norm.item() if average is None else 0.9 * average + 0.1 * norm.item()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f} norm {norm.item():.2f}")
