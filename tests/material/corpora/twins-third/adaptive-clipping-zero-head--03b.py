from dataclasses import dataclass

import torch
from torch import nn

nn.init.zeros_(list(model.parameters())[-2])
nn.init.zeros_(list(model.parameters())[-1])


@dataclass(frozen=True)
class AGC:
    factor: float = 0.1
    eps: float = 1e-3

    def units(self, t):
        return t.reshape(t.shape[0], -1).norm(dim=1)

    @torch.no_grad()
    def clip_(self, params):
        for p in params:
            weight, grad = self.units(p).clamp(min=self.eps), self.units(p.grad)
            if p.ndim == 1 and not p.detach().any():
                p.grad.zero_()
            scale = (self.factor * weight / grad.clamp(min=1e-12)).clamp(max=1.0)
            p.grad.mul_(scale.view(-1, *[1] * (p.ndim - 1)))


agc = AGC()
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        agc.clip_(model.parameters())
        optimizer.step()
