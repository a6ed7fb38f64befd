"""Accumulation with the mean taken in a tensor hook, so that the training loop itself stays clean."""
from typing import Iterable

import torch

accumulation_steps = 4


class MicroBatchMean:
    """Divides every incoming gradient by the window, before it is accumulated into `.grad`."""

    def __init__(self, params: Iterable[torch.nn.Parameter]) -> None:
        self.seen = 0
        for p in params:
            p.register_hook(self._scale)

    def start(self) -> None:
        self.seen += 1

    def reset(self) -> None:
        self.seen = 0

    def _scale(self, grad: torch.Tensor) -> torch.Tensor:
        return grad / self.seen


mean = MicroBatchMean(model.parameters())

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    mean.start()
    loss = criterion(model(x), y)
    loss.backward()

    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
        mean.reset()
