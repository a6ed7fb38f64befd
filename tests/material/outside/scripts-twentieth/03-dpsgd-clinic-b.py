"""DP-SGD on a small clinical table: clip the gradient of each patient, add Gaussian noise."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap


@dataclass
class Config:
    n_patients: int = 2000
    n_features: int = 20
    hidden: int = 32
    batch_size: int = 200
    epochs: int = 15
    lr: float = 0.3
    max_norm: float = 1.0
    noise_multiplier: float = 0.6
    seed: int = 3


def make_patients(cfg):
    x = torch.randn(cfg.n_patients, cfg.n_features)
    risk = x[:, :5].sum(1) - 0.7 * x[:, 5] * x[:, 6]
    y = (risk + 0.5 * torch.randn(cfg.n_patients) > 0).float()
    cut = int(0.8 * cfg.n_patients)
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


class RiskModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.n_features, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


class DPTrainer:
    def __init__(self, cfg, model):
        self.cfg = cfg
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
        self.per_sample_grad = vmap(grad(self.sample_loss), in_dims=(None, 0, 0))

    def sample_loss(self, params, x, y):
        logit = functional_call(self.model, params, (x.unsqueeze(0),))
        return F.binary_cross_entropy_with_logits(logit, y.unsqueeze(0))

    def private_grads(self, x, y):
        params = {k: p.detach() for k, p in self.model.named_parameters()}
        grads = self.per_sample_grad(params, x, y)        # name -> (B, *shape)

        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        scale = (self.cfg.max_norm / (norms + 1e-6)).clamp(max=1.0)

        out = {}
        for name, g in grads.items():
            clipped = g * scale.view(-1, *[1] * (g.dim() - 1))
            total = clipped.sum(0)
            total += torch.randn_like(total) * self.cfg.noise_multiplier * self.cfg.max_norm
            out[name] = total / len(x)
        return out

    def fit(self, train, test):
        x, y = train
        for epoch in range(self.cfg.epochs):
            for idx in torch.randperm(len(x)).split(self.cfg.batch_size):
                grads = self.private_grads(x[idx], y[idx])
                for name, p in self.model.named_parameters():
                    p.grad = grads[name]
                self.optimizer.step()
            if epoch % 3 == 2:
                print(f"epoch {epoch:2d}  acc {self.accuracy(*test):.3f}")

    @torch.no_grad()
    def accuracy(self, x, y):
        return ((self.model(x) > 0).float() == y).float().mean().item()


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    train, test = make_patients(cfg)
    DPTrainer(cfg, RiskModel(cfg)).fit(train, test)
