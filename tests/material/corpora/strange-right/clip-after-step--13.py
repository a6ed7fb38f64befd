from abc import ABC, abstractmethod

import torch


class Loop(ABC):
    def __init__(self, module, optim):
        self.module, self.optim = module, optim

    def run(self, batches):
        for batch in batches:
            self.optim.zero_grad()
            self.loss(batch).backward()
            self.before_step()
            self.optim.step()
            self.after_step()

    @abstractmethod
    def loss(self, batch): ...

    def before_step(self): ...

    def after_step(self): ...


class Clipped(Loop):
    limit = 1.0

    def loss(self, batch):
        x, y = batch
        return criterion(self.module(x), y)

    def before_step(self):
        self.norm = self._clip(self.module.parameters(), self.limit)

    @staticmethod
    def _clip(params, limit):
        return torch.nn.utils.clip_grad_norm_(params, limit)


Clipped(model, optimizer).run(train_loader)
