"""Electricity load forecasting with a GRU encoder (PyTorch Lightning).

Input is a CSV with a timestamp column and one column per household.
"""
from argparse import ArgumentParser

import lightning as L
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset


class WindowDataset(Dataset):
    def __init__(self, series, context, horizon, stride=1):
        self.series = torch.as_tensor(series, dtype=torch.float32)  # (time, households)
        self.context, self.horizon = context, horizon
        starts = range(0, len(series) - context - horizon + 1, stride)
        self.index = [(s, h) for s in starts for h in range(series.shape[1])]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        s, h = self.index[i]
        w = self.series[s:s + self.context + self.horizon, h]
        return w[:self.context], w[self.context:]


class LoadData(L.LightningDataModule):
    def __init__(self, csv, context, horizon, batch_size):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        hp = self.hparams
        df = pd.read_csv(hp.csv, index_col=0, parse_dates=True).astype("float32")
        n = len(df)
        a, b = int(0.7 * n), int(0.85 * n)
        mean, std = df[:a].mean(), df[:a].std() + 1e-6
        values = ((df - mean) / std).to_numpy(dtype=np.float32)
        self.train_ds = WindowDataset(values[:a], hp.context, hp.horizon, stride=4)
        self.val_ds = WindowDataset(values[a - hp.context:b], hp.context, hp.horizon, stride=hp.horizon)
        self.test_ds = WindowDataset(values[b - hp.context:], hp.context, hp.horizon, stride=hp.horizon)

    def train_dataloader(self):
        return DataLoader(self.train_ds, self.hparams.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_ds, 512)

    def test_dataloader(self):
        return DataLoader(self.test_ds, 512)


class GRUForecaster(L.LightningModule):
    def __init__(self, horizon=24, hidden=64, layers=2, lr=1e-3, beta=0.5):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.GRU(1, hidden, layers, batch_first=True, dropout=0.1 if layers > 1 else 0.0)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, horizon))

    def forward(self, x):
        last = x[:, -1:]
        _, h = self.encoder((x - last).unsqueeze(-1))
        return self.head(h[-1]) + last

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.smooth_l1_loss(self(x), y, beta=self.hparams.beta)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        self.log("val_loss", F.smooth_l1_loss(pred, y, beta=self.hparams.beta), prog_bar=True)
        self.log("val_mae", (pred - y).abs().mean(), prog_bar=True)

    def test_step(self, batch, batch_idx):
        x, y = batch
        self.log("test_mae", (self(x) - y).abs().mean())

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-2)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.lr, total_steps=self.trainer.estimated_stepping_batches
        )
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


def main():
    p = ArgumentParser()
    p.add_argument("--csv", required=True)
    p.add_argument("--context", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--batch_size", type=int, default=128)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--max_epochs", type=int, default=30)
    p.add_argument("--logdir", default="lightning_logs")
    args = p.parse_args()

    L.seed_everything(11)
    dm = LoadData(args.csv, args.context, args.horizon, args.batch_size)
    model = GRUForecaster(args.horizon, args.hidden, lr=args.lr)
    ckpt = ModelCheckpoint(monitor="val_mae", mode="min", filename="{epoch}-{val_mae:.3f}")
    trainer = L.Trainer(
        max_epochs=args.max_epochs,
        accelerator="auto",
        devices=1,
        gradient_clip_val=1.0,
        logger=CSVLogger(args.logdir),
        callbacks=[ckpt, LearningRateMonitor("step")],
    )
    trainer.fit(model, dm)
    trainer.test(model, dm, ckpt_path="best")


if __name__ == "__main__":
    main()
