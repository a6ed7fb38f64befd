import torch


class AdaptiveLimit:
    """No fixed 1.0 any more: the limit follows the run, so ordinary updates pass."""

    def __init__(self, decay: float = 0.98) -> None:
        self.decay, self.value = decay, None

    def observe(self, norm: float) -> float:
        self.value = norm if self.value is None else self.decay * self.value + (1 - self.decay) * norm
        return self.value


limit = AdaptiveLimit()

for images, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit.observe(norm.item()))
    optimizer.step()
