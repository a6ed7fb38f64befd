import torch
from torch.nn.utils import parameters_to_vector

max_norm = 1.0


def clip_flat(params, limit: float) -> float:
    """Global norm clipping on the flattened gradient: one norm, one multiplication."""
    flat = parameters_to_vector([p.grad for p in params])
    length = flat.norm()
    if length > limit:
        flat.mul_(limit / length)
    return length.item()


params = [p for p in model.parameters() if p.requires_grad]
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_flat(params, max_norm)
    optimizer.step()
