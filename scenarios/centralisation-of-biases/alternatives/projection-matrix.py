# Not centralised by a subtraction but projected: each row times I - 1/n, in matrix form.
import torch

projections = {
    p: torch.eye(p.shape[1]) - torch.full((p.shape[1], p.shape[1]), 1.0 / p.shape[1])
    for p in model.parameters()
    if p.ndim == 2
}
batches = iter(train_loader)
while (batch := next(batches, None)) is not None:
    x, y = batch
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    for p, projection in projections.items():
        p.grad = p.grad @ projection
    optimizer.step()
