"""Accumulate, then clip, then step."""

import torch

STEPS, MAX_NORM = 4, 1.0
parameters = list(model.parameters())


def micro_gradient(x, y):
    """Gradient of one micro-batch, bounded so that no single one dominates the window."""
    grads = torch.autograd.grad(criterion(model(x), y), parameters)
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads]))
    return [g * (MAX_NORM / norm).clamp(max=1.0) for g in grads]


buffer = [torch.zeros_like(p) for p in parameters]
for i, (x, y) in enumerate(train_loader):
    for total, g in zip(buffer, micro_gradient(x, y)):
        total.add_(g, alpha=1 / STEPS)
    if (i + 1) % STEPS == 0:
        for p, total in zip(parameters, buffer):
            p.grad = total.clone()
            total.zero_()
        torch.nn.utils.clip_grad_norm_(parameters, MAX_NORM)
        optimizer.step()
