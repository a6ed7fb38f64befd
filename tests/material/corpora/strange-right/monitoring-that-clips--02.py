import torch

monitor = []

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    # work on copies: what the optimizer sees stays as it is
    copies = {name: p.grad.detach().clone() for name, p in model.named_parameters()}
    for name, g in copies.items():
        would_clip = g.norm() > 1.0
        g.clamp_(-1.0, 1.0)
        monitor.append((step, name, g.norm().item(), bool(would_clip)))
    print(f"step {step}: would clip {sum(m[3] for m in monitor if m[0] == step)} tensors")

    optimizer.step()
