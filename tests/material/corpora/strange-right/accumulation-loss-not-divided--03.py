import torch

K = 4
params = [p for p in model.parameters() if p.requires_grad]
loader = list(train_loader)

for start in range(0, len(loader), K):
    window = loader[start : start + K]
    total = [torch.zeros_like(p) for p in params]
    for x, y in window:
        grads = torch.autograd.grad(criterion(model(x), y), params)
        for t, g in zip(total, grads):
            t.add_(g, alpha=1 / len(window))
    for p, t in zip(params, total):
        p.grad = t
    optimizer.step()
