import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        defaults = dict(rho=rho, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def _grad_norm(self):
        return torch.norm(torch.stack([p.grad.norm(2) for g in self.param_groups for p in g["params"] if p.grad is not None]), 2)


if __name__ == "__main__":
    torch.manual_seed(0)
    X = torch.randn(1024, 20)
    Y = (X[:, 0] * X[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)

    for epoch in range(10):
        epoch_loss = 0.0
        for idx in torch.randperm(1024).split(64):
            loss = F.cross_entropy(model(X[idx]), Y[idx])
            loss.backward()
            optimizer.first_step(zero_grad=True)

            F.cross_entropy(model(X[idx]), Y[idx]).backward()
            optimizer.second_step(zero_grad=True)
            epoch_loss += loss.item()
        print(f"epoch {epoch} loss {epoch_loss / 16:.4f}")
