# The mean of the window's gradients is kept up to date in buffers, which become .grad before the step.
import torch

accumulation_steps = 4
params = list(model.parameters())
means, k = [torch.zeros_like(p) for p in params], 0

for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    k += 1
    for mean, grad in zip(means, torch.autograd.grad(loss, params)):
        mean.add_((grad - mean) / k)

    if k == accumulation_steps or i + 1 == len(train_loader):
        for p, mean in zip(params, means):
            p.grad = mean.clone()
            mean.zero_()
        optimizer.step()
        k = 0
