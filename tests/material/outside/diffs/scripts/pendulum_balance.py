"""Two-head regression on simulated pendulum videos; the norm of every loss's gradient is reported now and then."""
import math

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
FRAMES, PIX = 5, 14
LOG_EVERY = 4


def pendulum(n):
    th, om = rng.uniform(-1.2, 1.2, n), rng.uniform(-2, 2, n)
    labels = np.stack([th, om], 1)
    lin = np.linspace(-1.2, 1.2, PIX)
    clip = np.zeros((n, FRAMES, PIX, PIX), dtype=np.float32)
    for f in range(FRAMES):
        x, y = np.sin(th), np.cos(th)
        clip[:, f] = np.exp(-8 * ((lin[None, None, :] - x[:, None, None]) ** 2 + (lin[None, :, None] - y[:, None, None]) ** 2))
        om = om - 0.15 * 9.8 / 3 * np.sin(th)
        th = th + 0.15 * om
    return torch.from_numpy(clip), torch.tensor(labels, dtype=torch.float32)


class Net(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(FRAMES * PIX * PIX, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.angle, self.speed = nn.Linear(h, 1), nn.Linear(h, 1)

    def forward(self, x):
        z = self.body(x)
        return self.angle(z).squeeze(1), self.speed(z).squeeze(1)


def grad_norm_of(loss, params):
    """Gradient norm of a single loss term with respect to the shared layers."""
    loss.backward(retain_graph=True)
    return math.sqrt(sum(p.grad.pow(2).sum().item() for p in params))


def main():
    x, y = pendulum(1200)
    xt, yt = pendulum(300)
    model = Net()
    shared = list(model.body.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    step = 0
    for epoch in range(5):
        order = torch.randperm(len(x))
        for idx in order.split(60):
            angle, speed = model(x[idx])
            terms = {"angle": (angle - y[idx, 0]).pow(2).mean(), "speed": 0.3 * (speed - y[idx, 1]).pow(2).mean()}
            optimizer.zero_grad()
            norms = {}
            if step % LOG_EVERY == 0:
                norms = {k: grad_norm_of(v, shared) for k, v in terms.items()}
            sum(terms.values()).backward()
            optimizer.step()
            if norms and step % (5 * LOG_EVERY) == 0:
                print(f"step {step}: " + " ".join(f"{k} {terms[k].item():.4f} (grad {norms[k]:.3f})" for k in terms))
            step += 1
    with torch.no_grad():
        a, s = model(xt)
        print(f"test rmse angle {(a - yt[:, 0]).pow(2).mean().sqrt():.3f} speed {(s - yt[:, 1]).pow(2).mean().sqrt():.3f}")


if __name__ == "__main__":
    main()
