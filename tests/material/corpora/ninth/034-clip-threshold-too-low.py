"""Loop with a threshold derived from the log instead of a guess.

Ordinary norm in your log: 0.31.  Rule of thumb: clip at a multiple of the ordinary norm so
that only outliers are touched.
"""
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class ClipConfig:
    ordinary_norm: float = 0.31
    headroom_percent: float = 600.0

    @property
    def max_norm(self) -> float:
        # 600 % of the ordinary norm
        return self.ordinary_norm * self.headroom_percent / 100 / 100


config = ClipConfig()

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_norm)
    optimizer.step()
    print(f"norm {norm:.2f} -> {min(norm.item(), config.max_norm):.2f}")
