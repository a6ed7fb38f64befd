from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_


@dataclass(frozen=True)
class TrainConfig:
    accumulation: int = 4
    max_grad_norm: float = 1.0
    epochs: int = 2


class Trainer:
    def __init__(self, model, optimizer, config):
        self.config = config
        self.ddp = DDP(model, device_ids=[local_rank])
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def windows(self, loader):
        window = []
        for batch in loader:
            window.append(batch)
            if len(window) == self.config.accumulation:
                yield window
                window = []
        if window:
            yield window

    def forward_backward(self, batch, share, sync):
        x, y = batch
        with ExitStack() as stack:
            if not sync:
                stack.enter_context(self.ddp.no_sync())
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(self.ddp(x), y)
            self.scaler.scale(loss * share).backward()
        return loss.detach()

    def apply(self):
        self.scaler.unscale_(self.optimizer)
        norm = clip_grad_norm_(self.ddp.parameters(), self.config.max_grad_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    def fit(self, loader):
        self.optimizer.zero_grad(set_to_none=True)
        for epoch in range(self.config.epochs):
            for window in self.windows(loader):
                share = 1.0 / len(window)
                for k, batch in enumerate(window, start=1):
                    self.forward_backward(batch, share, sync=k == self.config.accumulation)
                self.apply()


Trainer(model, optimizer, TrainConfig()).fit(train_loader)
