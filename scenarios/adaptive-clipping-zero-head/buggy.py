head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)


def adaptive_clip(parameters, factor=0.1):
    for p in parameters:
        if p.grad is None:
            continue
        allowed = factor * p.detach().norm()
        norm = p.grad.norm()
        if norm > allowed:
            p.grad.mul_(allowed / norm)


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    adaptive_clip(model.parameters())
    optimizer.step()
