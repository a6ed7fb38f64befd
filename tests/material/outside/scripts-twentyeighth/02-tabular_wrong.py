"""Tabular regression: MLP with categorical embeddings, AdamW, OneCycle."""
import argparse
import os
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


@dataclass
class Config:
    n_rows: int = 1500
    n_num: int = 8
    cardinalities: tuple = (5, 12)
    emb_dim: int = 4
    hidden: int = 64
    dropout: float = 0.1
    batch_size: int = 50
    epochs: int = 6
    max_lr: float = 5e-3
    weight_decay: float = 1e-2
    grad_clip: float = 2.0
    seed: int = 7
    checkpoint: str = "tabular.pt"


class TabularMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(c, cfg.emb_dim) for c in cfg.cardinalities)
        d_in = cfg.n_num + cfg.emb_dim * len(cfg.cardinalities)
        self.norm = nn.BatchNorm1d(cfg.n_num)
        self.body = nn.Sequential(
            nn.Linear(d_in, cfg.hidden), nn.ReLU(), nn.Dropout(cfg.dropout),
            nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Dropout(cfg.dropout),
            nn.Linear(cfg.hidden, 1),
        )

    def forward(self, num, cat):
        embs = [e(cat[:, i]) for i, e in enumerate(self.embeddings)]
        return self.body(torch.cat([self.norm(num), *embs], dim=1)).squeeze(1)


def make_data(cfg):
    g = torch.Generator().manual_seed(cfg.seed)
    num = torch.randn(cfg.n_rows, cfg.n_num, generator=g) * torch.linspace(0.5, 5, cfg.n_num)
    cat = torch.stack([torch.randint(0, c, (cfg.n_rows,), generator=g) for c in cfg.cardinalities], 1)
    effect = torch.randn(cfg.cardinalities[1], generator=g) * 2
    y = 0.6 * num[:, 0] * num[:, 1] + torch.sin(num[:, 2]) + effect[cat[:, 1]]
    y = y + 0.3 * torch.randn(cfg.n_rows, generator=g)
    y = (y - y.mean()) / y.std()
    return TensorDataset(num, cat, y)


def param_groups(model, weight_decay):
    decay, no_decay = [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if isinstance(module, nn.Linear) and name == "weight":
                decay.append(p)
            else:
                no_decay.append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


class Trainer:
    def __init__(self, cfg, model, train_loader, val_loader):
        self.cfg = cfg
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = model.to(self.device)
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.loss_fn = nn.SmoothL1Loss()
        self.optimizer = torch.optim.AdamW(param_groups(model, cfg.weight_decay), lr=cfg.max_lr)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=cfg.max_lr, epochs=cfg.epochs, steps_per_epoch=len(train_loader), pct_start=0.2)
        self.best = float("inf")

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for num, cat, y in self.train_loader:
            num, cat, y = num.to(self.device), cat.to(self.device), y.to(self.device)
            loss = self.loss_fn(self.model(num, cat), y)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        se, n = 0.0, 0
        for num, cat, y in self.val_loader:
            pred = self.model(num.to(self.device), cat.to(self.device))
            se += ((pred - y.to(self.device)) ** 2).sum().item()
            n += len(y)
        return (se / n) ** 0.5

    def fit(self):
        for epoch in range(1, self.cfg.epochs + 1):
            train_loss = self.train_epoch()
            self.scheduler.step()
            rmse = self.validate()
            lr = self.optimizer.param_groups[0]["lr"]
            print(f"[{epoch:02d}/{self.cfg.epochs}] train={train_loss:.4f} val_rmse={rmse:.4f} lr={lr:.2e}")
            if rmse < self.best:
                self.best = rmse
                torch.save({"model": self.model.state_dict(), "rmse": rmse, "epoch": epoch}, self.cfg.checkpoint)
        return self.best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=Config.epochs)
    parser.add_argument("--max-lr", type=float, default=Config.max_lr)
    parser.add_argument("--checkpoint", default=Config.checkpoint)
    cfg = Config(**vars(parser.parse_args()))

    torch.manual_seed(cfg.seed)
    data = make_data(cfg)
    train, val = random_split(data, [1200, 300])
    trainer = Trainer(cfg, TabularMLP(cfg), DataLoader(train, cfg.batch_size, shuffle=True), DataLoader(val, 300))
    best = trainer.fit()
    print(f"best rmse {best:.4f} -> {os.path.abspath(cfg.checkpoint)}")
    return trainer


if __name__ == "__main__":
    main()
