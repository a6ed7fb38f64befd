"""Sharpness-aware minimisation (two passes per step)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]).norm()
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                e = p.grad * (g["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()


def main():
    torch.manual_seed(0)
    x = torch.randn(128, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
    opt = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9)
    for epoch in range(4):
        for i in range(0, 128, 32):
            xb, yb = x[i:i + 32], y[i:i + 32]
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            opt.first_step()
            F.cross_entropy(model(xb), yb).backward()
            opt.second_step()
        print(epoch, f"{loss.item():.4f}")


main()
