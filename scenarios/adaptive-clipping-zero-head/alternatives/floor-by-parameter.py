# Bounded parameter by parameter, with a floor under the weight norm.
for p in list(model.parameters())[-2:]:
    torch.nn.init.zeros_(p)

def adaptive_clip(parameters, factor=0.01, eps=1e-3):
    for p in parameters:
        if p.grad is None:
            continue
        p_norm = p.detach().norm().clamp_(min=eps)
        g_norm = p.grad.detach().norm()
        max_norm = p_norm * factor
        if g_norm > max_norm:
            p.grad.detach().mul_(max_norm / g_norm.clamp(min=1e-6))

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    adaptive_clip(model.parameters())
    optimizer.step()
