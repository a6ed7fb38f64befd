for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    for name, p in model.named_parameters():
        norm = torch.nn.utils.clip_grad_norm_(p, 1.0)
        print(f"step {step} grad_norm/{name} {norm:.4f}")

    optimizer.step()
