from torch.nn.utils import clip_grad_norm_


def clip_per_layer_(model, max_norm):
    """Bound each layer's gradient, weight and bias together. Returns the norms before clipping."""
    norms = {}
    for name, layer in model.named_modules():
        own = [p for p in layer.parameters(recurse=False) if p.grad is not None]
        if own:
            norms[name] = clip_grad_norm_(own, max_norm).item()
    return norms


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norms = clip_per_layer_(model, max_norm=1.0)
    optimizer.step()
    print("  ".join(f"layer {name}: {norm:.3f}" for name, norm in norms.items()))
