import torch

MAX_NORM = 5.0


class Clipped:
    """Delegates to an optimizer and clips right before each step."""

    def __init__(self, optimizer, max_norm):
        self._optimizer = optimizer
        self._max_norm = max_norm
        self.norms = []

    def __getattr__(self, name):
        return getattr(self._optimizer, name)

    def step(self, *args, **kwargs):
        params = [p for g in self.param_groups for p in g["params"]]
        norm = torch.nn.utils.clip_grad_norm_(params, self._max_norm)
        self.norms.append(norm.item())
        return self._optimizer.step(*args, **kwargs)


opt = Clipped(optimizer, MAX_NORM)
for epoch in range(num_epochs):
    for x, y in train_loader:
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}, norms {min(opt.norms):.2f}..{max(opt.norms):.2f}")
