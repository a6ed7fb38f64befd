for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), clip_value=0.5)
    optimizer.step()
