# The line is in the wrong place: step() had already used the gradients when they were clipped.
# Curves that are identical for three thresholds are exactly what that looks like.
#
# I wrapped the optimizer, so that "clip, then step" is one call and cannot be reordered.
import torch


class ClippedOptimizer:
    def __init__(self, optimizer, max_norm):
        self._inner = optimizer
        self._max_norm = max_norm
        self.last_norm = float("nan")

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def step(self):
        gathered = []
        for group in self._inner.param_groups:
            gathered.extend(group["params"])
        self.last_norm = torch.nn.utils.clip_grad_norm_(gathered, self._max_norm).item()
        self._inner.step()


safe = ClippedOptimizer(optimizer, max_norm=1.0)

for x, y in train_loader:
    safe.zero_grad()
    criterion(model(x), y).backward()
    safe.step()
    if safe.last_norm > 10:
        print(f"spike: norm {safe.last_norm:.1f} (clipped to 1.0)")
