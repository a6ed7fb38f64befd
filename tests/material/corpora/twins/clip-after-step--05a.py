max_norm = 1.0


def tame(parameters):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads]))
    if norm > max_norm * 10:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm


for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    tame(list(model.parameters()))
    optimizer.step()
