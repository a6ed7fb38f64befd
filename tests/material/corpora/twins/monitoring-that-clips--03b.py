for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for name, p in model.named_parameters():
        squares = p.grad.detach().view(-1)
        squares *= squares.sign()
        print(f"step {step} grad_mean/{name} {squares.mean():.4f}")
    optimizer.step()
