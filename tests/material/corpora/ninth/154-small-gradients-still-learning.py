"""Are these vanishing gradients?  Read-only statistics: EMA of the norm per layer, first to last."""
import torch

DECAY = 0.9
ema: dict[str, float] = {}


def watch(name):
    def hook(grad):
        norm = grad.norm().item()
        ema[name] = DECAY * ema.get(name, norm) + (1 - DECAY) * norm
    return hook


handles = [p.register_hook(watch(n)) for n, p in model.named_parameters() if n.endswith("weight")]

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()

ordered = {n: ema[n] for n, _ in model.named_parameters() if n in ema}  # hooks fire last layer first
first, *_, last = ordered.values()
for name, value in ordered.items():
    print(f"{name:>12}  {value:.3e}")
print(f"first / last = {first / last:.1e}:", "vanishing" if first < 1e-4 * last else "only small units, nothing to fix")
for h in handles:
    h.remove()
