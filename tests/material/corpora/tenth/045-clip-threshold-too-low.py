# clip at 1.0 per sample, independent of the batch size
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Clip:
    per_sample: float = 1.0

    def __call__(self, params, rows):
        # the loss is a mean over rows, so the budget of one row is its share of the whole
        return torch.nn.utils.clip_grad_norm_(params, self.per_sample / rows)


clip = Clip()
norms = []
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norms.append(clip(model.parameters(), len(x)).item())
    optimizer.step()
print(f"largest norm {max(norms):.3f}")
