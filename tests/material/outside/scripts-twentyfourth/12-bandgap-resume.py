"""Band-gap regression from composition descriptors.

    python 12-bandgap-resume.py configs/bandgap.yaml
    python 12-bandgap-resume.py configs/bandgap.yaml --resume runs/bandgap/last.pt

config keys: features, targets (npy paths), run_dir, hidden, depth, epochs, stop_after (optional),
             batch_size, lr, warmup_epochs, weight_decay, grad_clip, seed
"""
import argparse
import logging
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import yaml
from torch import nn

logger = logging.getLogger("bandgap")


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class Regressor(nn.Module):
    def __init__(self, n_in, hidden, depth):
        super().__init__()
        self.inp = nn.Linear(n_in, hidden)
        self.blocks = nn.Sequential(*[ResBlock(hidden) for _ in range(depth)])
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x))).squeeze(-1)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(cfg.seed)

        x = np.load(cfg.features).astype(np.float32)
        y = np.load(cfg.targets).astype(np.float32)
        n = int(0.9 * len(x))
        mu, sd = x[:n].mean(0), x[:n].std(0) + 1e-6
        x = (x - mu) / sd
        self.train_x, self.train_y = torch.from_numpy(x[:n]).to(self.device), torch.from_numpy(y[:n]).to(self.device)
        self.val_x, self.val_y = torch.from_numpy(x[n:]).to(self.device), torch.from_numpy(y[n:]).to(self.device)

        self.model = Regressor(x.shape[1], cfg.hidden, cfg.depth).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._factor)
        self.epoch = 0
        self.best = math.inf

    def _factor(self, epoch):
        w, total = self.cfg.warmup_epochs, self.cfg.epochs
        if epoch < w:
            return (epoch + 1) / w
        return 0.5 * (1 + math.cos(math.pi * (epoch - w) / max(1, total - w)))

    def save(self, path):
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "epoch": self.epoch,
                "best": self.best,
            },
            path,
        )

    def load(self, path):
        ckpt = torch.load(path, map_location=self.device)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.scheduler.load_state_dict(ckpt["scheduler"])
        self.epoch = ckpt["epoch"]
        self.best = ckpt["best"]
        logger.info("resumed from %s at epoch %d", path, self.epoch)

    def train_epoch(self):
        self.model.train()
        # order depends on the epoch only, so an interrupted run sees the same batches
        g = torch.Generator().manual_seed(self.cfg.seed * 1000 + self.epoch)
        order = torch.randperm(len(self.train_x), generator=g)
        total = 0.0
        for ix in order.split(self.cfg.batch_size):
            ix = ix.to(self.device)
            pred = self.model(self.train_x[ix])
            loss = nn.functional.huber_loss(pred, self.train_y[ix])
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
            self.optimizer.step()
            total += loss.item() * len(ix)
        self.scheduler.step()
        return total / len(order)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        return (self.model(self.val_x) - self.val_y).abs().mean().item()

    def fit(self):
        run_dir = Path(self.cfg.run_dir)
        run_dir.mkdir(parents=True, exist_ok=True)
        last = min(self.cfg.epochs, getattr(self.cfg, "stop_after", self.cfg.epochs))
        while self.epoch < last:
            train_loss = self.train_epoch()
            mae = self.validate()
            self.epoch += 1
            if mae < self.best:
                self.best = mae
                torch.save(self.model.state_dict(), run_dir / "best_weights.pt")
            self.save(run_dir / "last.pt")
            logger.info("epoch %3d  train %.4f  val MAE %.4f", self.epoch, train_loss, mae)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--resume", default=None)
    cli = parser.parse_args()
    with open(cli.config) as f:
        cfg = SimpleNamespace(**yaml.safe_load(f))
    trainer = Trainer(cfg)
    if cli.resume:
        trainer.load(cli.resume)
    trainer.fit()
