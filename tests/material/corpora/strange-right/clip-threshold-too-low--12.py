from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Stepper:
    module: nn.Module
    optim: torch.optim.Optimizer
    limit: float = 1.0

    def __call__(self, x, y):
        params = list(self.module.parameters())
        loss = criterion(self.module(x), y)
        grads = torch.autograd.grad(loss, params)
        norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads]))
        scale = (self.limit / (norm + 1e-6)).clamp(max=1.0)
        for p, g in zip(params, grads):
            p.grad = g * scale
        self.optim.step()
        return loss.detach(), norm


stepper = Stepper(model, optimizer)
for x, y in train_loader:
    loss, norm = stepper(x, y)
    print(f"loss {loss:.4f} norm {norm:.3f}")
