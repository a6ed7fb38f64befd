"""Clip between backward and step, with the factor spelt out."""

import torch

MAX_NORM = 1.0

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    gradients = [p.grad.detach().clone() for p in model.parameters() if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in gradients]))
    factor = (MAX_NORM / (norm + 1e-6)).clamp(max=1.0)
    for g in gradients:
        g.mul_(factor)

    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f} -> {norm * factor:.3f}")
