# All gradients as one vector: one norm, one factor, and back into place.
import torch
from torch.nn.utils import parameters_to_vector

MAX_NORM = 1.5
clipped = 0

for x, y in train_loader:
    for p in model.parameters():
        p.grad = None
    loss = criterion(model(x), y)
    loss.backward()
    flat = parameters_to_vector([p.grad for p in model.parameters()])
    norm = float(flat.norm())
    if norm > MAX_NORM:
        clipped += 1
        flat = flat * (MAX_NORM / norm)
        for p, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
            p.grad = part.view_as(p)
    optimizer.step()
print(f"{clipped} of {len(train_loader)} updates clipped at {MAX_NORM}")
