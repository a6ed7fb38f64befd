"""Watches gradients layer by layer and changes nothing: the run learns as it is."""
import torch

names, params = zip(*model.named_parameters())

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    norms = [n.item() for n in torch._foreach_norm([p.grad for p in params])]
    print(f"step {step}  loss {loss.item():.4e}")
    for name, norm in zip(names, norms):
        print(f"    {name:<12} {norm:.3e}")
    matrices = [norm for p, norm in zip(params, norms) if p.ndim > 1]
    print(f"    first layer / last layer: {matrices[0] / matrices[-1]:.2e}")

    optimizer.step()
