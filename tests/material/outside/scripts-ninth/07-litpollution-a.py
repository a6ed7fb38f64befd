"""PM2.5 forecasting, LightningModule + OneCycle."""
import argparse

import lightning as L
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, Dataset


class WindowDataset(Dataset):
    def __init__(self, values, target_col, history, horizon):
        self.values = torch.as_tensor(values, dtype=torch.float32)
        self.target_col, self.history, self.horizon = target_col, history, horizon

    def __len__(self):
        return len(self.values) - self.history - self.horizon + 1

    def __getitem__(self, i):
        x = self.values[i:i + self.history]
        y = self.values[i + self.history:i + self.history + self.horizon, self.target_col]
        return x, y


class PollutionData(L.LightningDataModule):
    def __init__(self, csv, target="pm25", history=48, horizon=12, batch_size=64):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        hp = self.hparams
        df = pd.read_csv(hp.csv).select_dtypes("number").interpolate().bfill()
        self.n_features = df.shape[1]
        col = df.columns.get_loc(hp.target)
        v = df.to_numpy(np.float32)
        n = int(len(v) * 0.8)
        mu, sd = v[:n].mean(0), v[:n].std(0) + 1e-6
        v = (v - mu) / sd
        self.train_ds = WindowDataset(v[:n], col, hp.history, hp.horizon)
        self.val_ds = WindowDataset(v[n:], col, hp.history, hp.horizon)

    def train_dataloader(self):
        return DataLoader(self.train_ds, self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_ds, self.hparams.batch_size)


class GRUForecaster(L.LightningModule):
    def __init__(self, n_features, horizon, hidden=64, layers=2, lr=3e-3, weight_decay=1e-4):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(n_features, hidden, layers, batch_first=True, dropout=0.1)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, horizon))

    def forward(self, x):
        _, h = self.rnn(x)
        return self.head(h[-1])

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.huber_loss(self(x), y)
        self.log("train/loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        self.log("val/loss", F.huber_loss(pred, y), prog_bar=True)
        self.log("val/mae", (pred - y).abs().mean(), prog_bar=True)

    def on_before_optimizer_step(self, optimizer):
        norms = torch.stack([p.grad.norm() for p in self.parameters() if p.grad is not None])
        self.log("train/grad_norm", norms.norm(), on_step=False, on_epoch=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.lr,
            total_steps=int(self.trainer.estimated_stepping_batches),
            pct_start=0.2)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--csv", required=True)
    ap.add_argument("--target", default="pm25")
    ap.add_argument("--history", type=int, default=48)
    ap.add_argument("--horizon", type=int, default=12)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--logdir", default="runs")
    args = ap.parse_args()

    L.seed_everything(42, workers=True)
    dm = PollutionData(args.csv, args.target, args.history, args.horizon, args.batch_size)
    dm.setup()
    model = GRUForecaster(dm.n_features, args.horizon, lr=args.lr)

    ckpt = ModelCheckpoint(monitor="val/loss", mode="min", save_last=True, filename="best")
    trainer = L.Trainer(
        max_epochs=args.epochs,
        accelerator="auto",
        devices=1,
        gradient_clip_val=1.0,
        gradient_clip_algorithm="norm",
        logger=CSVLogger(args.logdir),
        callbacks=[ckpt, LearningRateMonitor("step")],
        log_every_n_steps=10,
        enable_progress_bar=False,
    )
    trainer.fit(model, datamodule=dm)
    print("best checkpoint:", ckpt.best_model_path, float(ckpt.best_model_score))
    print(trainer.validate(model, datamodule=dm, ckpt_path="best"))


if __name__ == "__main__":
    main()
