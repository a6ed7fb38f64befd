# All gradients in one flat vector, scaled as that, and copied back before the step.
import torch

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()

    params = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    flat *= torch.clamp(1.0 / (flat.norm() + 1e-6), max=1.0)
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        p.grad.copy_(piece.view_as(p))

    optimizer.step()
