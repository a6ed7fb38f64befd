for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss = loss / max(1.0, loss.item())
    loss.backward()
    optimizer.step()
