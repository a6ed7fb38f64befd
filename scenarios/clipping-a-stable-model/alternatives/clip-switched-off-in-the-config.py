# A config with an optional threshold: None by default, and then there is no clip at all.
from dataclasses import dataclass
from typing import Optional

import torch


@dataclass(frozen=True)
class Config:
    max_grad_norm: Optional[float] = None  # e.g. 100.0, should spikes ever turn up


class Trainer:
    def __init__(self, config):
        self.config = config

    def training_step(self, images, labels):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        if self.config.max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), self.config.max_grad_norm)
        optimizer.step()
        return loss.detach()

    def fit(self, loader):
        return [self.training_step(*batch) for batch in loader]


history = Trainer(Config()).fit(train_loader)
print(f"last loss {history[-1]:.3f}")
