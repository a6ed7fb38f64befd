# A context manager and a class own accumulation, scaling and clipping.
import torch
from functools import partial
from torch.amp import autocast, GradScaler

class AmpAccumulator:
    def __init__(self, model, optimizer, *, steps, max_norm, device="cuda"):
        self.model, self.optimizer = model, optimizer
        self.steps, self.max_norm = steps, max_norm
        self.scaler = GradScaler(device)
        self._ctx = partial(autocast, device, dtype=torch.float16)
        self._n = 0

    def __enter__(self):
        self.optimizer.zero_grad()
        return self

    def __exit__(self, *exc):
        if self._n:
            self._flush(self._n)
        return False

    def backward(self, loss_fn, x, y):
        with self._ctx():
            loss = loss_fn(self.model(x), y)
        self.scaler.scale(loss).backward()
        self._n += 1
        if self._n == self.steps:
            self._flush(self.steps)

    def _flush(self, n):
        self.scaler.unscale_(self.optimizer)
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.mul_(1.0 / n)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self._n = 0

with AmpAccumulator(model, optimizer, steps=4, max_norm=1.0) as acc:
    for x, y in train_loader:
        acc.backward(criterion, x, y)
