import torch

max_norm = 1.0
params = [p for p in model.parameters() if p.requires_grad]

for x, y in train_loader:
    loss = criterion(model(x), y)
    grads = torch.autograd.grad(loss, params)
    norm = torch.sqrt(sum(g.square().sum() for g in grads))
    coef = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    for p, g in zip(params, grads):
        p.grad = g * coef  # one factor for all: the direction stays
    optimizer.step()
