def report(step, model):
    """One line: the gradient norm of each weight, first layer first, and first over last."""
    norms = [
        (name, p.grad.norm().item())
        for name, p in model.named_parameters()
        if p.grad is not None and p.ndim > 1
    ]
    layers = "  ".join(f"{name} {norm:.2e}" for name, norm in norms)
    first, last = norms[0][1], norms[-1][1]
    ratio = first / last if last else float("nan")
    print(f"step {step}: first over last {ratio:.3e}  [{layers}]")


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    if step % 2 == 0:  # reading is cheap, but nobody reads every step
        report(step, model)
    optimizer.step()
