"""One-step-ahead forecast with a GRU; early stopping, the best weights are used for the test."""
import copy
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Settings:
    window: int = 24
    hidden: int = 48
    lr: float = 1e-2
    batch: int = 16
    max_epochs: int = 40
    patience: int = 8
    seed: int = 2
    splits: tuple = field(default=(80, 60, 200))


def make_series(n, window):
    t = torch.arange(n + window, dtype=torch.float32)
    s = torch.sin(t / 7) + 0.5 * torch.sin(t / 3.1) + 0.5 * torch.randn(n + window)
    x = s.unfold(0, window, 1)[:n]
    y = s[window:window + n]
    return x.unsqueeze(-1), y


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1]).squeeze(-1)


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.best_epoch = -1
        self.best_state = None

    def update(self, value, epoch, model):
        """returns True when training should stop"""
        if value < self.best:
            self.best, self.best_epoch = value, epoch
            self.best_state = copy.deepcopy(model.state_dict())
        return epoch - self.best_epoch >= self.patience


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    return F.mse_loss(model(x), y).item()


def fit(cfg, model, train, val):
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    stopper = EarlyStopping(cfg.patience)
    x, y = train
    for epoch in range(cfg.max_epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(cfg.batch):
            opt.zero_grad()
            F.mse_loss(model(x[idx]), y[idx]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        val_loss = evaluate(model, *val)
        print(f"epoch {epoch:2d} train {evaluate(model, x, y):.4f} val {val_loss:.4f}")
        if stopper.update(val_loss, epoch, model):
            break
    model.load_state_dict(stopper.best_state)
    return stopper


def main():
    cfg = Settings()
    torch.manual_seed(cfg.seed)
    n_train, n_val, n_test = cfg.splits
    train = make_series(n_train, cfg.window)
    val = make_series(n_val, cfg.window)
    test = make_series(n_test, cfg.window)

    model = Forecaster(cfg.hidden)
    stopper = fit(cfg, model, train, val)
    print(f"best epoch {stopper.best_epoch} with val {stopper.best:.4f}")
    print(f"val of the restored model {evaluate(model, *val):.4f}")
    print(f"test {evaluate(model, *test):.4f}")


if __name__ == "__main__":
    main()
