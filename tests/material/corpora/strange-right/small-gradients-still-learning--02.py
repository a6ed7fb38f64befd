from contextlib import contextmanager

import torch


@contextmanager
def layer_gradients(net):
    """Collects ||dL/dW|| of each weight while active."""
    seen, handles = {}, []
    for name, p in net.named_parameters():
        if p.ndim > 1:
            handles.append(p.register_hook(lambda g, name=name: seen.__setitem__(name, g.norm().item())))
    try:
        yield seen
    finally:
        for h in handles:
            h.remove()


order = [name for name, p in model.named_parameters() if p.ndim > 1]
with layer_gradients(model) as seen:
    for step, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        line = " ".join(f"{name}={seen[name]:.2e}" for name in order)
        verdict = "vanishing" if seen[order[0]] < 1e-3 * seen[order[-1]] else "fine"
        print(f"step {step} loss {loss.item():.3e} {line} => {verdict}")
        optimizer.step()
