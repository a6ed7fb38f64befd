seen = {}
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norms = [p.grad.norm().item() for p in model.parameters()]
    names = [n for n, _ in model.named_parameters()]
    norms.reverse()
    for name, norm in zip(names, norms):
        print(f"step {step} {name}: {norm:.3e}")
    optimizer.step()
