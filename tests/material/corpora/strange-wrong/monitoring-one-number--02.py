"""Log, layer by layer, whether early layers get any gradient."""


def profile(model):
    """Relative size of each layer's gradient: comparable across layers and across runs."""
    sizes = {}
    for name, p in model.named_parameters():
        if p.grad is None or p.ndim < 2:
            continue
        sizes[name] = (p.grad.abs().mean() / p.grad.abs().max()).item()
    return sizes


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    sizes = profile(model)
    values = list(sizes.values())
    print(f"step {step}: first/last {values[0] / values[-1]:.3f}  " + "  ".join(f"{n} {v:.3f}" for n, v in sizes.items()))
    optimizer.step()
