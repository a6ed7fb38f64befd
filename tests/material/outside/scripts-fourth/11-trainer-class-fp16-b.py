"""Generic Trainer used for our ranking models (fp16, early stopping, resume)."""
from __future__ import annotations

import argparse
import dataclasses
import logging
import pathlib
import typing as t

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("trainer")


@dataclasses.dataclass
class TrainerConfig:
    epochs: int = 10
    lr: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 1e-5
    max_grad_norm: float | None = 1.0
    fp16: bool = True
    patience: int = 3
    workdir: str = "work"
    device: str = "cuda" if torch.cuda.is_available() else "cpu"


class EarlyStopper:
    def __init__(self, patience: int):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def update(self, value: float) -> bool:
        """returns True if `value` is a new best"""
        if value < self.best:
            self.best, self.bad = value, 0
            return True
        self.bad += 1
        return False

    @property
    def stop(self) -> bool:
        return self.bad >= self.patience


class Trainer:
    def __init__(self, model: nn.Module, loss_fn: t.Callable, cfg: TrainerConfig):
        self.cfg = cfg
        self.device = torch.device(cfg.device)
        self.model = model.to(self.device)
        self.loss_fn = loss_fn
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=cfg.momentum,
                                         weight_decay=cfg.weight_decay)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=cfg.fp16)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=4, gamma=0.5)
        self.stopper = EarlyStopper(cfg.patience)
        self.global_step = 0
        self.workdir = pathlib.Path(cfg.workdir)
        self.workdir.mkdir(parents=True, exist_ok=True)

    # ------------------------------------------------------------------ steps
    def _forward(self, batch) -> torch.Tensor:
        x, y = (b.to(self.device) for b in batch)
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.cfg.fp16):
            scores = self.model(x)
        return self.loss_fn(scores.float(), y)

    def training_step(self, batch) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._forward(batch)
        self.scaler.scale(loss).backward()
        if self.cfg.max_grad_norm is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_grad_norm)
        self.optimizer.step()
        self.scaler.update()
        self.global_step += 1
        return loss.item()

    @torch.no_grad()
    def validate(self, loader: DataLoader) -> float:
        self.model.eval()
        losses = [self._forward(b).item() for b in loader]
        return sum(losses) / max(1, len(losses))

    # -------------------------------------------------------------------- fit
    def fit(self, train: DataLoader, valid: DataLoader, resume: bool = False) -> None:
        first = self.load() if resume else 0
        for epoch in range(first, self.cfg.epochs):
            self.model.train()
            mean = 0.0
            for i, batch in enumerate(train, 1):
                mean += (self.training_step(batch) - mean) / i
            self.scheduler.step()
            val = self.validate(valid)
            log.info("epoch=%d step=%d train=%.4f valid=%.4f", epoch, self.global_step, mean, val)
            if self.stopper.update(val):
                torch.save(self.model.state_dict(), self.workdir / "best.pt")
            self.save(epoch)
            if self.stopper.stop:
                log.info("early stop")
                break

    # ----------------------------------------------------------------- state
    def save(self, epoch: int) -> None:
        torch.save({
            "epoch": epoch, "step": self.global_step, "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict(),
            "scheduler": self.scheduler.state_dict(), "best": self.stopper.best,
        }, self.workdir / "last.pt")

    def load(self) -> int:
        ck = torch.load(self.workdir / "last.pt", map_location=self.device)
        self.model.load_state_dict(ck["model"])
        self.optimizer.load_state_dict(ck["optimizer"])
        self.scaler.load_state_dict(ck["scaler"])
        self.scheduler.load_state_dict(ck["scheduler"])
        self.global_step, self.stopper.best = ck["step"], ck["best"]
        return ck["epoch"] + 1


class Ranker(nn.Module):
    """scores a list of documents, (B, L, D) -> (B, L)"""

    def __init__(self, dim: int, hidden: int = 64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def listnet(scores: torch.Tensor, relevance: torch.Tensor) -> torch.Tensor:
    return -(F.softmax(relevance, -1) * F.log_softmax(scores, -1)).sum(-1).mean()


def synthetic(n: int, l: int, d: int, seed: int) -> TensorDataset:
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(d, generator=torch.Generator().manual_seed(99))
    x = torch.randn(n, l, d, generator=g)
    return TensorDataset(x, (x @ w + 0.3 * torch.randn(n, l, generator=g)))


def main() -> None:
    ap = argparse.ArgumentParser()
    for f in dataclasses.fields(TrainerConfig):
        if f.name in ("epochs", "lr", "workdir", "device"):
            ap.add_argument(f"--{f.name}", type=type(f.default), default=f.default)
    ap.add_argument("--no-fp16", action="store_true")
    ap.add_argument("--resume", action="store_true")
    a = ap.parse_args()
    logging.basicConfig(level=logging.INFO)
    cfg = TrainerConfig(epochs=a.epochs, lr=a.lr, workdir=a.workdir, device=a.device, fp16=not a.no_fp16)
    torch.manual_seed(0)
    train = DataLoader(synthetic(2000, 10, 16, 1), 64, shuffle=True)
    valid = DataLoader(synthetic(400, 10, 16, 2), 64)
    Trainer(Ranker(16), listnet, cfg).fit(train, valid, a.resume)


if __name__ == "__main__":
    main()
