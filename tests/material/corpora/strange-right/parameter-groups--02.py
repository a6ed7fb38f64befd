import torch

LIMITS = {"backbone": 0.5, "head": 5.0}


@torch.no_grad()
def clip_children(net, limits):
    for name, child in net.named_children():
        grads = [p.grad for p in child.parameters() if p.grad is not None]
        if not grads or name not in limits:
            continue
        norm = torch.stack([g.pow(2).sum() for g in grads]).sum().sqrt()
        if norm > limits[name]:
            for g in grads:
                g *= limits[name] / (norm + 1e-6)


optimizer.register_step_pre_hook(lambda *_: clip_children(model, LIMITS))

for x, y in train_loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
