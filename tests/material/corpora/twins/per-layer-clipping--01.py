for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for layer in model.modules():
        own = list(layer.parameters(recurse=False))
        if own:
            torch.nn.utils.clip_grad_norm_(own, 1.0)
    optimizer.step()
