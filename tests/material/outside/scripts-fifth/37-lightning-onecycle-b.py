import argparse

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


class SensorData(L.LightningDataModule):
    """Activity recognition: 6-channel windows, every class with its own frequencies."""

    def __init__(self, n=6000, length=128, classes=6, batch_size=64):
        super().__init__()
        self.save_hyperparameters()

    def _make(self, n, seed):
        h = self.hparams
        g = torch.Generator().manual_seed(seed)
        y = torch.randint(0, h.classes, (n,), generator=g)
        freq = torch.rand(h.classes, 6, generator=torch.Generator().manual_seed(0)) * 8 + 1
        t = torch.linspace(0, 6.28, h.length)
        ph = torch.rand(n, 6, 1, generator=g) * 6.28
        x = torch.sin(freq[y].unsqueeze(-1) * t + ph) + 1.0 * torch.randn(n, 6, h.length, generator=g)
        return TensorDataset(x, y)

    def setup(self, stage=None):
        self.train_set, self.val_set = self._make(self.hparams.n, 1), self._make(self.hparams.n // 6, 2)

    def train_dataloader(self):
        return DataLoader(self.train_set, self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, 256)


class ConvBlock(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(i, o, 7, stride, 3, bias=False), nn.BatchNorm1d(o), nn.ReLU(),
                                 nn.Conv1d(o, o, 7, 1, 3, bias=False), nn.BatchNorm1d(o))
        self.skip = nn.Conv1d(i, o, 1, stride)

    def forward(self, x):
        return F.relu(self.net(x) + self.skip(x))


class ActivityNet(L.LightningModule):
    def __init__(self, classes=6, width=32, max_lr=5e-3, weight_decay=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(ConvBlock(6, width, 2), ConvBlock(width, 2 * width, 2),
                                  ConvBlock(2 * width, 4 * width, 2))
        self.fc = nn.Sequential(nn.Dropout(0.2), nn.Linear(4 * width, classes))

    def forward(self, x):
        return self.fc(self.body(x).mean(-1))

    def _step(self, batch, stage):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        acc = (logits.argmax(1) == y).float().mean()
        self.log_dict({f"{stage}/loss": loss, f"{stage}/acc": acc}, prog_bar=True, on_epoch=True,
                      on_step=False)
        return loss

    def training_step(self, batch, batch_idx):
        return self._step(batch, "train")

    def validation_step(self, batch, batch_idx):
        self._step(batch, "val")

    def configure_optimizers(self):
        h = self.hparams
        optimizer = torch.optim.AdamW(self.parameters(), lr=h.max_lr, weight_decay=h.weight_decay)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=h.max_lr, total_steps=int(self.trainer.estimated_stepping_batches), pct_start=0.2)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler}}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--n", type=int, default=6000)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--max-lr", type=float, default=5e-3)
    p.add_argument("--precision", default="32-true")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--quiet", action="store_true")
    args = p.parse_args()
    L.seed_everything(args.seed)
    logger = CSVLogger("logs", name="activity")
    trainer = L.Trainer(
        max_epochs=args.epochs, accelerator="auto", devices=1, precision=args.precision, logger=logger,
        accumulate_grad_batches=args.accumulate, gradient_clip_val=1.0, log_every_n_steps=10,
        enable_progress_bar=not args.quiet,
        callbacks=[LearningRateMonitor("step"), ModelCheckpoint(monitor="val/acc", mode="max", save_last=True)])
    model = ActivityNet(max_lr=args.max_lr)
    trainer.fit(model, datamodule=SensorData(n=args.n, batch_size=args.batch_size))
    print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()
