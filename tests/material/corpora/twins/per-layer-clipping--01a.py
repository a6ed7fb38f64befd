for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for layer in model.modules():
        for own in layer.parameters(recurse=False):
            torch.nn.utils.clip_grad_norm_(own, 1.0)
    optimizer.step()
