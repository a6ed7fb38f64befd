for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)

    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")
