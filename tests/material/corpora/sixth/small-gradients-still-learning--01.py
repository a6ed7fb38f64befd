# Nothing to fix: loss and validation improve. The size of a gradient depends on the units of the
# loss and of the parameters; what says "vanishing" is early layers far below late ones.
# This only reads. Act if the ratio is below about 1e-3 AND the loss stands still.
first_last = []

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    norms = {
        name: float(p.grad.detach().double().norm())
        for name, p in model.named_parameters()
        if name.endswith("weight") and p.grad is not None
    }
    first, *_, last = norms.values()
    first_last.append(first / last if last > 0 else float("nan"))
    print(f"step {step} loss {loss.item():.3e} first/last {first_last[-1]:.2e}")
    print("   " + "  ".join(f"{name} {norm:.2e}" for name, norm in norms.items()))

    optimizer.step()
