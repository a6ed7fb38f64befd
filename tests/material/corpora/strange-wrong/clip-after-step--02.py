"""The loop with the clip where it belongs: after backward, before step."""

import torch

MAX_NORM = 1.0
layers = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
clipped = [p for layer in layers[:-1] for p in layer.parameters()]

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(clipped, max_norm=MAX_NORM)
    optimizer.step()
    print(f"loss {loss.item():.4f}, norm {norm:.3f}")
