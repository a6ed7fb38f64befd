"""Normalise the loss instead of the learning rate; lr stays that of the large batch."""
from dataclasses import dataclass


@dataclass
class AccumulationConfig:
    steps: int = 4


cfg = AccumulationConfig()


def normalised_loss(x, y):
    """backward() adds up, so each micro-batch must contribute its share only."""
    return criterion(model(x), y) / x.size(0)


optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    normalised_loss(x, y).backward()

    if (i + 1) % cfg.steps == 0 or i + 1 == len(train_loader):
        optimizer.step()
        optimizer.zero_grad()
