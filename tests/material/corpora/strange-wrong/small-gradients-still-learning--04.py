"""Per-layer gradient report that stays out of the training step."""


def diagnose(x, y):
    """Norm of each layer's gradient, from a pass of its own: nothing of training is touched."""
    criterion(model(x), y).backward()
    return {n: p.grad.norm().item() for n, p in model.named_parameters() if p.ndim > 1}


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    norms = diagnose(x, y)
    first, last = next(iter(norms.values())), list(norms.values())[-1]
    print(f"step {step}: first/last {first / last:.2e}; " + ", ".join(f"{k} {v:.2e}" for k, v in norms.items()))

    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
