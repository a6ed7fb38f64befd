"""The clip stood behind the step. Before it now, on one flat vector (a single norm kernel instead of many)."""
import torch

max_norm = 1.0
params = [p for p in model.parameters() if p.requires_grad]


@torch.no_grad()
def clip():
    flat = torch.cat([p.grad.view(-1) for p in params])
    norm = flat.norm()
    if norm > max_norm:
        flat *= max_norm / (norm + 1e-6)
    return norm


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = clip()
    optimizer.step()
