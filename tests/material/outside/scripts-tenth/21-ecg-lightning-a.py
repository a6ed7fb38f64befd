"""12-lead ECG rhythm classification with Lightning.

    python train.py --data ecg.npz         # signals (N, 12, T) float32, labels (N,)
"""
import argparse

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


class ECGData(L.LightningDataModule):
    def __init__(self, path, batch_size, workers):
        super().__init__()
        self.path, self.batch_size, self.workers = path, batch_size, workers

    def setup(self, stage=None):
        blob = np.load(self.path)
        x = torch.from_numpy(blob["signals"]).float()
        y = torch.from_numpy(blob["labels"]).long()
        perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
        n_val = max(1, len(x) // 5)
        val, train = perm[:n_val], perm[n_val:]
        mean = x[train].mean((0, 2), keepdim=True)
        std = x[train].std((0, 2), keepdim=True) + 1e-6
        x = (x - mean) / std
        self.train_set, self.val_set = TensorDataset(x[train], y[train]), TensorDataset(x[val], y[val])

    def train_dataloader(self):
        return DataLoader(self.train_set, self.batch_size, shuffle=True, drop_last=True, num_workers=self.workers)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.batch_size, num_workers=self.workers)


class ResBlock(nn.Module):
    def __init__(self, i, o, stride, dropout):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(i, o, 9, stride, 4, bias=False), nn.BatchNorm1d(o), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Conv1d(o, o, 9, 1, 4, bias=False), nn.BatchNorm1d(o))
        self.skip = nn.Sequential(nn.Conv1d(i, o, 1, stride, bias=False), nn.BatchNorm1d(o))

    def forward(self, x):
        return F.relu(self.net(x) + self.skip(x))


class ECGNet(L.LightningModule):
    def __init__(self, classes, width=32, lr=5e-3, weight_decay=1e-2, dropout=0.2):
        super().__init__()
        self.save_hyperparameters()
        w = width
        self.net = nn.Sequential(
            nn.Conv1d(12, w, 15, 2, 7, bias=False), nn.BatchNorm1d(w), nn.ReLU(inplace=True),
            ResBlock(w, w, 1, dropout), ResBlock(w, 2 * w, 2, dropout), ResBlock(2 * w, 4 * w, 2, dropout),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4 * w, classes))

    def forward(self, x):
        return self.net(x)

    def augment(self, x):
        scale = 1 + 0.1 * torch.randn(len(x), 1, 1, device=x.device)
        return x * scale + 0.02 * torch.randn_like(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(self.augment(x)), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y), prog_bar=True)
        self.log("val_acc", (logits.argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.lr, total_steps=int(self.trainer.estimated_stepping_batches))
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "name": "onecycle"}}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="ecg.npz")
    p.add_argument("--classes", type=int, default=5)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--workers", type=int, default=2)
    args = p.parse_args()

    L.seed_everything(1234)
    model = ECGNet(args.classes, args.width, args.lr)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        accelerator="auto",
        devices=1,
        gradient_clip_val=1.0,
        logger=CSVLogger("logs", name="ecg"),
        callbacks=[ModelCheckpoint(monitor="val_acc", mode="max", save_last=True), LearningRateMonitor()],
        log_every_n_steps=10,
    )
    trainer.fit(model, datamodule=ECGData(args.data, args.batch_size, args.workers))
    print("best val_acc", trainer.checkpoint_callback.best_model_score)


if __name__ == "__main__":
    main()
