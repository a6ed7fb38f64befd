"""Same training as in the paper, plus one line of insurance, written as an optimizer pre-hook.

The hook runs inside optimizer.step(), before the update: after backward, before the parameters move.
"""
from dataclasses import dataclass, field

import torch


@dataclass
class ClipMonitor:
    max_norm: float = 2.0
    norms: list = field(default_factory=list)

    def attach(self, optimizer):
        return optimizer.register_step_pre_hook(self)

    def __call__(self, optimizer, args, kwargs):
        params = [p for group in optimizer.param_groups for p in group["params"]]
        self.norms.append(torch.nn.utils.clip_grad_norm_(params, self.max_norm).item())

    def flush(self):
        norms, self.norms = self.norms, []
        above = sum(n > self.max_norm for n in norms)
        return f"norm before clipping {min(norms):.2f}..{max(norms):.2f}, clipped {above}/{len(norms)}"


class Trainer:
    def __init__(self, model, criterion, optimizer, loader, monitor):
        self.model, self.criterion, self.optimizer, self.loader = model, criterion, optimizer, loader
        self.monitor = monitor
        monitor.attach(optimizer)

    def batch_step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            losses = [self.batch_step(x, y) for x, y in self.loader]
            print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.4f}, {self.monitor.flush()}")


Trainer(model, criterion, optimizer, train_loader, ClipMonitor()).fit(num_epochs)
