import collections
from functools import partial

history = collections.defaultdict(list)


def record(name, grad):
    norm = grad.detach().norm()
    history[name].append(norm.item())
    direction = grad / norm.clamp_min(1e-12)
    return direction if len(history[name]) > 1 else None


class DirectionDrift:
    """Cosine between consecutive gradient directions, a cheap sign of oscillation."""

    def __init__(self):
        self.last = {}

    def __call__(self, name, direction):
        old = self.last.get(name)
        self.last[name] = direction
        return None if old is None else float((old * direction).sum())


drift = DirectionDrift()
for name, p in model.named_parameters():
    p.register_hook(partial(record, name))

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for name, p in model.named_parameters():
        d = p.grad / p.grad.norm().clamp_min(1e-12)
        print(f"step {step} grad_norm/{name} {history[name][-1]:.4e} drift {drift(name, d)}")
    optimizer.step()
