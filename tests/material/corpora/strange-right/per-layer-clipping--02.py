import torch


@torch.no_grad()
def bound_layers(root, limit):
    for module in root.modules():
        grads = [p.grad for p in module.parameters(recurse=False) if p.grad is not None]
        if not grads:
            continue
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
        torch._foreach_mul_(grads, (limit / (norm + 1e-6)).clamp(max=1.0))


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    bound_layers(model, limit=1.0)
    optimizer.step()
