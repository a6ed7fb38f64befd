# A script with a config, a Trainer and a main().
from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Iterable

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

logger = logging.getLogger(__name__)


@dataclass
class TrainConfig:
    epochs: int = 1
    grad_accum_steps: int = 4
    clip: float = 1.0
    device: str = "cuda" if torch.cuda.is_available() else "cpu"
    log_every: int = 2
    history: list[float] = field(default_factory=list)


class Trainer:
    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, loss_fn, config: TrainConfig):
        self.model = model.to(config.device)
        self.optimizer = optimizer
        self.loss_fn = loss_fn
        self.cfg = config
        self.scaler = torch.amp.GradScaler(config.device)
        self.updates = 0

    def _forward_backward(self, batch, divisor: int) -> float:
        x, y = (t.to(self.cfg.device, non_blocking=True) for t in batch)
        with torch.amp.autocast(self.cfg.device, dtype=torch.float16):
            loss = self.loss_fn(self.model(x), y) / divisor
        self.scaler.scale(loss).backward()
        return loss.item() * divisor

    def _update(self) -> float:
        self.scaler.unscale_(self.optimizer)
        norm = clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.updates += 1
        return float(norm)

    def fit(self, loader: Iterable) -> None:
        self.model.train()
        n = len(loader)
        k = self.cfg.grad_accum_steps
        for epoch in range(self.cfg.epochs):
            self.optimizer.zero_grad()
            for i, batch in enumerate(loader):
                in_window = k if i < n - n % k else n % k
                loss = self._forward_backward(batch, in_window)
                if (i + 1) % k == 0 or i + 1 == n:
                    norm = self._update()
                    self.cfg.history.append(norm)
                    if self.updates % self.cfg.log_every == 0:
                        logger.info("epoch %d update %d loss %.4f norm %.3f", epoch, self.updates, loss, norm)


def main() -> None:
    Trainer(model, optimizer, criterion, TrainConfig()).fit(train_loader)


if __name__ == "__main__":
    main()
