"""Multi-horizon load forecasting with a TCN, PyTorch Lightning."""
from argparse import ArgumentParser

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from torch.utils.data import DataLoader, Dataset


class WindowDataset(Dataset):
    def __init__(self, series, context, horizon):
        self.x = torch.as_tensor(series, dtype=torch.float32)
        self.context, self.horizon = context, horizon

    def __len__(self):
        return len(self.x) - self.context - self.horizon + 1

    def __getitem__(self, i):
        w = self.x[i:i + self.context + self.horizon]
        return w[:self.context], w[self.context:]


class LoadDataModule(L.LightningDataModule):
    def __init__(self, path=None, context=168, horizon=24, batch_size=64, workers=0):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        h = self.hparams
        if h.path:
            s = np.load(h.path).astype(np.float32)
        else:  # toy series: daily + weekly season and noise
            t = np.arange(6000)
            s = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168)
            s = s + 0.1 * np.random.default_rng(0).normal(size=t.size)
        cut = int(0.8 * len(s))
        mu, sd = s[:cut].mean(), s[:cut].std()
        s = (s - mu) / sd
        self.train = WindowDataset(s[:cut], h.context, h.horizon)
        self.val = WindowDataset(s[cut - h.context:], h.context, h.horizon)

    def train_dataloader(self):
        return DataLoader(self.train, self.hparams.batch_size, shuffle=True, drop_last=True,
                          num_workers=self.hparams.workers)

    def val_dataloader(self):
        return DataLoader(self.val, self.hparams.batch_size, num_workers=self.hparams.workers)


class CausalConv(nn.Module):
    def __init__(self, c, k, d, p):
        super().__init__()
        self.pad = (k - 1) * d
        self.conv = nn.Conv1d(c, c, k, dilation=d)
        self.norm = nn.GroupNorm(1, c)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return x + self.drop(F.gelu(self.norm(self.conv(F.pad(x, (self.pad, 0))))))


class Forecaster(L.LightningModule):
    def __init__(self, horizon=24, width=48, depth=6, dropout=0.1, lr=2e-3, weight_decay=1e-4):
        super().__init__()
        self.save_hyperparameters()
        self.inp = nn.Conv1d(1, width, 1)
        self.blocks = nn.Sequential(*[CausalConv(width, 3, 2 ** i, dropout) for i in range(depth)])
        self.head = nn.Linear(width, horizon)

    def forward(self, x):
        h = self.blocks(self.inp(x.unsqueeze(1)))
        return self.head(h[..., -1])

    def training_step(self, batch, _):
        x, y = batch
        loss = F.smooth_l1_loss(self(x), y)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        pred = self(x)
        self.log_dict({"val/mae": F.l1_loss(pred, y), "val/rmse": F.mse_loss(pred, y).sqrt()}, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.lr,
            total_steps=self.trainer.estimated_stepping_batches, pct_start=0.1)
        return {
            "optimizer": opt,
            "lr_scheduler": {"scheduler": sched, "interval": "step"},
        }


def cli():
    p = ArgumentParser()
    p.add_argument("--path")
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--accumulate", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--limit", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


def main():
    args = cli()
    L.seed_everything(args.seed, workers=True)
    dm = LoadDataModule(args.path, batch_size=args.batch_size)
    model = Forecaster(width=args.width, lr=args.lr)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        accumulate_grad_batches=args.accumulate,
        gradient_clip_val=args.clip,
        gradient_clip_algorithm="norm",
        limit_train_batches=args.limit,
        callbacks=[LearningRateMonitor("step"), ModelCheckpoint(monitor="val/mae", save_top_k=1)],
        log_every_n_steps=10,
    )
    trainer.fit(model, dm)
    trainer.validate(model, dm)


if __name__ == "__main__":
    main()
