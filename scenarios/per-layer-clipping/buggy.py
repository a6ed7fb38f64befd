max_norm = 1.0

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    # every layer on its own
    for name, p in model.named_parameters():
        torch.nn.utils.clip_grad_norm_(p, max_norm)

    optimizer.step()
