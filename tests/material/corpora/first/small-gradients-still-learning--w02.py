"""Per-layer gradient norms for a healthy-or-vanishing verdict.  Training itself is not changed."""


def layer_norms(model, loss):
    """Gradient norm of each weight matrix, first layer first."""
    loss.backward(retain_graph=True)
    return {
        name: p.grad.norm().item()
        for name, p in model.named_parameters()
        if p.grad is not None and p.ndim > 1
    }


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)

    norms = layer_norms(model, loss)
    values = list(norms.values())
    ratio = values[0] / values[-1] if values[-1] else 0.0
    print(f"step {step}: loss {loss.item():.4e}  first/last {ratio:.2e}  "
          + ("vanishing" if ratio < 1e-3 else "healthy"))
    for name, norm in norms.items():
        print(f"    {name}: {norm:.3e}")

    loss.backward()
    optimizer.step()
