import torch


class NormClipper:
    """Scales all gradients by one factor, so that the joint 2-norm is at most `limit`."""

    __slots__ = ("params", "limit", "last")

    def __init__(self, params, limit: float):
        self.params = tuple(params)
        self.limit = limit
        self.last = None

    @torch.no_grad()
    def __call__(self):
        grads = [p.grad for p in self.params if p.grad is not None]
        per_tensor = torch._foreach_norm(grads, 2)
        self.last = torch.stack(per_tensor).norm(2)
        factor = torch.clamp(self.limit / (self.last + 1e-6), max=1.0)
        torch._foreach_mul_(grads, factor)
        return self.last


clip = NormClipper(model.parameters(), limit=1.0)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip()
    optimizer.step()
