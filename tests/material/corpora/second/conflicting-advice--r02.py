"""One loop for both models: clip the global norm at 1.0, count how often it acts, decide by that."""
from dataclasses import dataclass, field

import torch


@torch.no_grad()
def clip_global_(params, max_norm, eps=1e-6):
    """Scale all gradients by min(1, max_norm / total). Returns the total norm before scaling."""
    grads = [p.grad for p in params if p.grad is not None]
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, 2.0)))
    if total > max_norm:
        torch._foreach_mul_(grads, (max_norm / (total + eps)).item())
    return total


@dataclass
class ClipStats:
    max_norm: float
    norms: list = field(default_factory=list)

    def add(self, norm):
        self.norms.append(float(norm))

    def verdict(self):
        share = sum(n > self.max_norm for n in self.norms) / len(self.norms)
        if share == 0:
            return "never clipped: identical to training without"
        return f"clipped {share:.0%}" + (" (threshold too low, raise it)" if share > 0.5 else " (outliers only)")


stats = ClipStats(max_norm=1.0)
for batch, labels in train_loader:
    optimizer.zero_grad()
    criterion(model(batch), labels).backward()
    stats.add(clip_global_(list(model.parameters()), stats.max_norm))
    optimizer.step()
print(stats.verdict())
