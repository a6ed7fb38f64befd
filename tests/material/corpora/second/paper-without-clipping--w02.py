"""Trainer with global-norm clipping and norm logging for the 200-layer reproduction."""
from dataclasses import dataclass

import torch


@dataclass
class TrainConfig:
    max_norm: float = 1.0


@torch.no_grad()
def clip_gradients(parameters, max_norm):
    """Scale the whole gradient so that its L2 norm is at most max_norm; returns the norm before."""
    grads = [p.grad for p in parameters if p.grad is not None]
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad = grad * scale
    return total


def train_epoch(cfg):
    norms = []
    for x, y in train_loader:
        optimizer.zero_grad()
        output = model(x)
        loss = criterion(output, y)
        loss.backward()
        norms.append(clip_gradients(model.parameters(), cfg.max_norm).item())
        optimizer.step()
    return loss.item(), norms


cfg = TrainConfig()
for epoch in range(num_epochs):
    value, norms = train_epoch(cfg)
    print(f"epoch {epoch + 1}: loss {value:.4f}, grad norm max {max(norms):.2f}, "
          f"clipped {sum(n > cfg.max_norm for n in norms)}/{len(norms)}")
