"""
Multi-task network: one trunk, four heads (two regressions, one binary, one 5-class).

The tasks' losses have different sizes and speeds. At each step every task gets a weight

    w_k = K * softmax(loss_k / tau)

so that the task that is worst at the moment counts most. The weights are constants as far as
the gradient is concerned: d total / d theta = sum_k w_k * d loss_k / d theta.
"""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class TaskSpec:
    name: str
    kind: str  # "reg" | "bin" | "cls"
    out: int = 1


@dataclass
class Config:
    n_train: int = 12000
    n_val: int = 2000
    n_in: int = 24
    hidden: int = 128
    epochs: int = 15
    batch_size: int = 128
    lr: float = 0.05
    momentum: float = 0.9
    tau: float = 0.5
    clip: float = 5.0
    seed: int = 21
    tasks: list[TaskSpec] = field(default_factory=lambda: [
        TaskSpec("price", "reg"), TaskSpec("delay", "reg"), TaskSpec("churn", "bin"), TaskSpec("segment", "cls", 5)])


class Simulated(Dataset):
    def __init__(self, cfg: Config, n: int, seed: int):
        world = torch.Generator().manual_seed(99)  # same ground truth for every split
        mix = torch.randn(cfg.n_in, 6, generator=world) / cfg.n_in ** 0.5
        cls = torch.randn(6, 5, generator=world)
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, cfg.n_in, generator=g)
        z = torch.tanh(self.x @ mix * 1.5)
        noise = torch.randn(n, 2, generator=g)
        self.y = {
            "price": 2.0 * z[:, 0] + z[:, 1] * z[:, 2] + 0.3 * noise[:, 0],
            "delay": (z[:, 3] - z[:, 4]).abs() * 1.5 + 0.5 * noise[:, 1],
            "churn": (torch.rand(n, generator=g) < torch.sigmoid(3 * z[:, 1] - 2 * z[:, 5])).float(),
            "segment": (z @ cls + torch.randn(n, 5, generator=g) * 0.5).argmax(1),
        }

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], {k: v[i] for k, v in self.y.items()}


class MultiTaskNet(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(cfg.n_in, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU())
        self.heads = nn.ModuleDict({t.name: nn.Linear(cfg.hidden, t.out) for t in cfg.tasks})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


def task_loss(spec: TaskSpec, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if spec.kind == "reg":
        return F.mse_loss(out.squeeze(1), y)
    if spec.kind == "bin":
        return F.binary_cross_entropy_with_logits(out.squeeze(1), y)
    return F.cross_entropy(out, y)


class Trainer:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train_dl = DataLoader(Simulated(cfg, cfg.n_train, 1), cfg.batch_size, shuffle=True, drop_last=True)
        self.val_dl = DataLoader(Simulated(cfg, cfg.n_val, 2), 500)
        self.model = MultiTaskNet(cfg).to(self.device)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=cfg.momentum, weight_decay=1e-4)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=cfg.epochs)

    def losses(self, x, y) -> torch.Tensor:
        out = self.model(x.to(self.device))
        return torch.stack([task_loss(t, out[t.name], y[t.name].to(self.device)) for t in self.cfg.tasks])

    def combine(self, losses: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights = len(losses) * F.softmax(losses.detach() / self.cfg.tau, dim=0)
        return (weights * losses).sum(), weights

    def train_epoch(self) -> torch.Tensor:
        self.model.train()
        seen = torch.zeros(len(self.cfg.tasks))
        for x, y in self.train_dl:
            losses = self.losses(x, y)
            total, weights = self.combine(losses)
            self.opt.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
            self.opt.step()
            seen += weights.detach().cpu()
        self.sched.step()
        return seen / len(self.train_dl)

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        self.model.eval()
        rows = torch.stack([self.losses(x, y) for x, y in self.val_dl])
        return {t.name: round(v, 4) for t, v in zip(self.cfg.tasks, rows.mean(0).tolist())}

    def fit(self):
        for epoch in range(self.cfg.epochs):
            w = self.train_epoch()
            val = self.validate()
            print(json.dumps({"epoch": epoch, "weights": [round(v, 2) for v in w.tolist()], **val}))
        torch.save({"model": self.model.state_dict(), "config": asdict(self.cfg)}, "multitask.pt")


if __name__ == "__main__":
    Trainer(Config()).fit()
