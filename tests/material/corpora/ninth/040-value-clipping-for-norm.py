import torch


class NormClipper:
    """Norm clipping: direction is kept, length is limited (unlike clip_grad_value_)."""

    def __init__(self, params, limit: float):
        self.params = tuple(params)
        self.limit = limit

    @torch.no_grad()
    def __call__(self):
        grads = [p.grad for p in self.params if p.grad is not None]
        norms = torch._foreach_norm(grads, 2)
        factors = [torch.clamp(self.limit / (n + 1e-6), max=1.0) for n in norms]
        torch._foreach_mul_(grads, factors)
        return torch.stack(norms).norm(2)


clip = NormClipper(model.parameters(), limit=1.0)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip()
    optimizer.step()
