# autograd.grad returns the gradients; they are clipped as a list and handed to the optimizer.
import torch

params = list(model.parameters())

for step, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    grads = torch.autograd.grad(loss, params)
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    factor = (1.0 / (norm + 1e-6)).clamp(max=1.0)
    for p, g in zip(params, grads):
        p.grad = g * factor
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, grad norm {norm:.3f}")
