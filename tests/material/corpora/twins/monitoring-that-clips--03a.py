for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for name, p in model.named_parameters():
        print(f"step {step} grad_norm/{name} {p.grad.norm():.4f}")
    if step % 100 == 99:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
