seen = {}
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    norms = [p.grad.norm().item() for p in model.parameters()]
    names = [n for n, _ in model.named_parameters()]
    for name, norm in zip(names, norms):
        print(f"step {step} {name}: {norm:.3e}")
