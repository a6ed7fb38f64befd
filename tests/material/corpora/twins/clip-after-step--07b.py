params = [p for p in model.parameters() if p.requires_grad]
grads = None

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=False)
    criterion(model(x), y).backward()
    flat = torch.cat([p.grad.flatten() for p in params])
    offset = 0
    for p in params:
        p.grad.copy_(flat[offset : offset + p.numel()].view_as(p))
        offset += p.numel()
    flat.mul_(torch.clamp(1.0 / (flat.norm() + 1e-6), max=1.0))
    optimizer.step()
