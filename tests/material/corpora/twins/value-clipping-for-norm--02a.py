limit = 1.0
before = None
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item()
    if limit < norm < 50.0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()
