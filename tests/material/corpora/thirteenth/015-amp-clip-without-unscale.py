"""fp16 training. The clip has to see true gradients: scaler.unscale_ first."""

import logging
from dataclasses import dataclass

import torch

logger = logging.getLogger("train")


@dataclass
class Config:
    max_norm: float = 1.0
    log_every: int = 2


class Trainer:
    def __init__(self, model, optimizer, criterion, config):
        self.model, self.optimizer, self.criterion, self.config = model, optimizer, criterion, config
        self.scaler = torch.amp.GradScaler("cuda")
        self.global_step = 0

    def _log_norm(self):
        self.scaler.unscale_(self.optimizer)
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        logger.info("step %d norm %.3f", self.global_step, torch.nn.utils.get_total_norm(grads))

    def _optimizer_step(self):
        if self.global_step % self.config.log_every == 0:
            self._log_norm()  # true gradients from here on
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.global_step += 1

    def fit(self, loader):
        self.optimizer.zero_grad(set_to_none=True)
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.criterion(self.model(x), y)
            self.scaler.scale(loss).backward()
            self._optimizer_step()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    Trainer(model, optimizer, criterion, Config()).fit(train_loader)
