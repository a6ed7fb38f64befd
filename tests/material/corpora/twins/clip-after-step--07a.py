params = [p for p in model.parameters() if p.requires_grad]
grads = None

for x, y in train_loader:
    optimizer.zero_grad(set_to_none=True)
    criterion(model(x), y).backward()
    if grads is None:
        grads = [p.grad for p in params]
    norm = torch.nn.utils.get_total_norm(grads)
    torch._foreach_mul_(grads, torch.clamp(1.0 / (norm + 1e-6), max=1.0))
    optimizer.step()
