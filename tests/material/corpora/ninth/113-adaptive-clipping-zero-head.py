import torch

head = list(model.parameters())[-2:]
for p in head:
    torch.nn.init.zeros_(p)
exempt = {id(p) for p in head}


def adaptive_clip(parameters, factor=0.1, floor=1e-3):
    """Relative clipping. The head is left out, as in the NFNet code; a floor guards zero biases."""
    for p in parameters:
        if p.grad is None or id(p) in exempt:
            continue
        allowed = factor * max(p.detach().norm().item(), floor)
        norm = p.grad.norm().item()
        if norm > allowed:
            p.grad.mul_(allowed / norm)


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    adaptive_clip(model.parameters())
    optimizer.step()
