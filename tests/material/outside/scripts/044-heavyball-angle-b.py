"""Predict the angle of a noisy bar. Trained with a hand written heavy-ball optimizer."""
import math

import torch
from torch import nn
from torch.optim.optimizer import Optimizer


class HeavyBall(Optimizer):
    def __init__(self, params, lr=1e-2, momentum=0.9, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "velocity" not in state:
                    state["velocity"] = p.grad
                else:
                    state["velocity"].mul_(group["momentum"]).add_(p.grad)
                if group["weight_decay"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(state["velocity"], alpha=-group["lr"])
        return loss


def bars(n, size=16, g=None):
    ang = torch.rand(n, generator=g) * math.pi
    lin = torch.linspace(-1, 1, size)
    y, x = torch.meshgrid(lin, lin, indexing="ij")
    dist = (x * ang.sin().view(-1, 1, 1) - y * ang.cos().view(-1, 1, 1)).abs()
    img = torch.exp(-20 * dist ** 2) + 0.1 * torch.randn(n, size, size, generator=g)
    # doubled angle, since a bar has no direction
    return img.unsqueeze(1), torch.stack([(2 * ang).cos(), (2 * ang).sin()], 1)


def main():
    torch.manual_seed(3)
    g = torch.Generator().manual_seed(0)
    x, y = bars(1024, g=g)
    xv, yv = bars(256, g=g)
    model = nn.Sequential(nn.Conv2d(1, 8, 5, 2, 2), nn.ReLU(), nn.Conv2d(8, 16, 5, 2, 2), nn.ReLU(), nn.Flatten(),
                          nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = HeavyBall(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    criterion = nn.MSELoss()
    for epoch in range(4):
        total = 0.0
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad(set_to_none=False)
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        with torch.no_grad():
            out = model(xv)
            err = torch.rad2deg((torch.atan2(out[:, 1], out[:, 0]) - torch.atan2(yv[:, 1], yv[:, 0])) / 2)
            err = ((err + 90) % 180 - 90).abs().mean()
        print(f"epoch {epoch} mse {total / len(x):.4f} angle error {err:.2f} deg")


if __name__ == "__main__":
    main()
