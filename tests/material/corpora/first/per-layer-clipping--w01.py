"""Per-layer clipping: one call per layer instead of one per entry of named_parameters()."""
from torch import nn
from torch.nn.utils import clip_grad_norm_

MAX_NORM = 1.0


def clip_each_layer(model, max_norm):
    norms = {}
    for name, layer in model.named_modules():
        if isinstance(layer, (nn.Linear, nn.Conv1d, nn.Conv2d)):
            norms[name] = clip_grad_norm_(layer.weight, max_norm).item()
    return norms


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norms = clip_each_layer(model, MAX_NORM)
    optimizer.step()
    print("  ".join(f"{name}: {norm:.3f}" for name, norm in norms.items()))
