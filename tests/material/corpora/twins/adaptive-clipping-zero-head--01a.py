head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)


@torch.no_grad()
def adaptive_clip(parameters, factor=0.1, eps=1e-3):
    for p in parameters:
        if p.grad is None:
            continue
        allowed = factor * p.norm()
        norm = p.grad.norm().clamp(min=eps)
        if norm > allowed:
            p.grad.mul_(allowed / norm)


for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    adaptive_clip(model.parameters())
    optimizer.step()
