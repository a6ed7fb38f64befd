"""Sharpness-aware minimisation on a small synthetic image problem."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(torch.stack([p.grad.norm(2) for g in self.param_groups for p in g["params"]
                                       if p.grad is not None]))
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old"] = p.detach().clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.copy_(self.state[p]["old"])
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError("use first_step and second_step")


def dataset(n, seed):
    rng = np.random.default_rng(seed)
    proto = np.random.default_rng(99).normal(size=(5, 3, 12, 12))
    y = rng.integers(0, 5, n)
    x = proto[y] * rng.uniform(0.3, 1.0, (n, 1, 1, 1)) + rng.normal(0, 1.2, (n, 3, 12, 12))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def main():
    torch.manual_seed(0)
    x, y = dataset(800, 0)
    xt, yt = dataset(300, 1)
    # a tenth of the labels is noise
    flip = torch.rand(len(y)) < 0.1
    y[flip] = torch.randint(5, (int(flip.sum()),))
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                          nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 5))
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.05, momentum=0.9)
    for epoch in range(5):
        losses = []
        for idx in torch.randperm(len(x)).split(50):
            xb, yb = x[idx], y[idx]
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.first_step()
            # second pass at the perturbed weights
            F.cross_entropy(model(xb), yb).backward()
            optimizer.second_step(zero_grad=True)
            losses.append(loss.item())
        with torch.no_grad():
            acc = (model(xt).argmax(1) == yt).float().mean().item()
        print(f"epoch {epoch} loss {np.mean(losses):.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
