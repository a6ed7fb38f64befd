params = list(model.parameters())

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)
    torch.nn.utils.clip_grad_value_(params, clip_value=0.1)
    optimizer.step()
