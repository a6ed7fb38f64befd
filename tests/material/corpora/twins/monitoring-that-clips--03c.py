for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    if step % 2:
        again = criterion(model(x), y)
        again.backward()
    for name, p in model.named_parameters():
        print(f"step {step} grad_norm/{name} {p.grad.norm():.4f}")
    optimizer.step()
