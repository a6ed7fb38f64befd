"""Keyword spotting on synthetic log-mel patches, bf16 autocast + GradScaler.

python 01-keyword-amp-trainer.py --epochs 3
"""
import argparse
import logging
import math
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("kws")


@dataclass
class TrainConfig:
    epochs: int = 3
    batch_size: int = 32
    lr: float = 0.05
    momentum: float = 0.9
    max_norm: float = 1.0
    n_mels: int = 20
    frames: int = 24
    n_words: int = 6
    seed: int = 11
    amp: bool = True
    device: str = "cpu"


def fake_speech(cfg, n=500):
    g = torch.Generator().manual_seed(cfg.seed)
    words = torch.randn(cfg.n_words, 1, cfg.n_mels, cfg.frames, generator=g)
    y = torch.randint(cfg.n_words, (n,), generator=g)
    gain = 0.5 + torch.rand(n, 1, 1, 1, generator=g)
    x = gain * words[y] + 1.5 * torch.randn(n, 1, cfg.n_mels, cfg.frames, generator=g)
    return TensorDataset(x, y)


class KwsNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(24 * (cfg.n_mels // 4) * (cfg.frames // 4), cfg.n_words)

    def forward(self, x):
        return self.fc(self.drop(self.body(x).flatten(1)))


class Trainer:
    def __init__(self, model, cfg, train_dl, valid_dl):
        self.model, self.cfg = model, cfg
        self.train_dl, self.valid_dl = train_dl, valid_dl
        self.opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum, nesterov=True)
        self.scaler = torch.amp.GradScaler(cfg.device, enabled=cfg.amp)
        self.norms = []

    def autocast(self):
        return torch.autocast(self.cfg.device, dtype=torch.bfloat16, enabled=self.cfg.amp)

    def train_step(self, x, y):
        with self.autocast():
            logits = self.model(x)
            loss = F.cross_entropy(logits, y)
        self.opt.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)
        self.scaler.unscale_(self.opt)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.norms.append(norm.item())
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        good = total = 0
        for x, y in self.valid_dl:
            with self.autocast():
                pred = self.model(x).argmax(1)
            good += (pred == y).sum().item()
            total += len(y)
        return good / total

    def fit(self):
        for epoch in range(1, self.cfg.epochs + 1):
            self.model.train()
            run = 0.0
            for x, y in self.train_dl:
                run += self.train_step(x, y)
            acc = self.validate()
            log.info("epoch %d loss %.4f acc %.3f mean norm %.3g", epoch, run / len(self.train_dl), acc,
                     sum(self.norms) / len(self.norms))
            self.norms.clear()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--max-norm", type=float, default=1.0)
    ap.add_argument("--no-amp", action="store_true")
    a = ap.parse_args()
    cfg = TrainConfig(epochs=a.epochs, max_norm=a.max_norm, amp=not a.no_amp)
    torch.set_num_threads(1)
    torch.manual_seed(cfg.seed)
    ds = fake_speech(cfg)
    tr, va = random_split(ds, [400, 100])
    t = Trainer(KwsNet(cfg), cfg, DataLoader(tr, cfg.batch_size, shuffle=True), DataLoader(va, 100))
    t.fit()


if __name__ == "__main__":
    main()
