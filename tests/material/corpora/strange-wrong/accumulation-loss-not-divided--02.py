"""Gradient accumulation that equals the large batch."""

import torch


class Accumulator:
    """Counts micro-batches and steps when a window is full."""

    def __init__(self, optimizer: torch.optim.Optimizer, steps: int) -> None:
        self.optimizer = optimizer
        self.steps = steps
        self.count = 0
        optimizer.zero_grad()

    def backward(self, loss: torch.Tensor) -> None:
        """Add one micro-batch's share."""
        (loss / self.steps).backward()
        if self.count % self.steps == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.count += 1


accumulator = Accumulator(optimizer, steps=4)
for x, y in train_loader:
    accumulator.backward(criterion(model(x), y))
