head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)
rest = [p for p in model.parameters() if all(p is not h for h in head)]
optimizer = torch.optim.SGD([{"params": rest}, {"params": head}], lr=0.5)


def unitwise(t):
    return t.norm() if t.ndim <= 1 else t.norm(dim=1, keepdim=True)


@torch.no_grad()
def adaptive_clip(factor=0.1, eps=1e-3):
    for p in model.parameters():
        limit = factor * unitwise(p).clamp(min=eps)
        norm = unitwise(p.grad).clamp(min=1e-6)
        p.grad.mul_((limit / norm).clamp(max=1.0))


for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    adaptive_clip()
    optimizer.step()
