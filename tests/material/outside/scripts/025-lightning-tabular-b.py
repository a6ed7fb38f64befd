import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, EarlyStopping


def churn_table(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    tenure = rng.exponential(20, n)
    charges = rng.normal(70, 25, n)
    calls = rng.poisson(1.5, n)
    contract = rng.integers(0, 3, n)
    logit = 0.8 - 0.06 * tenure + 0.02 * (charges - 70) + 0.5 * calls - 0.9 * contract
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.float32)
    num = np.stack([tenure, charges, calls], 1)
    num = (num - num.mean(0)) / num.std(0)
    return TensorDataset(torch.tensor(num, dtype=torch.float32), torch.tensor(contract), torch.tensor(y))


class ChurnModel(pl.LightningModule):
    def __init__(self, lr, hidden, accumulate):
        super().__init__()
        self.save_hyperparameters()
        self.emb = nn.Embedding(3, 4)
        self.net = nn.Sequential(nn.Linear(7, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, num, cat):
        return self.net(torch.cat([num, self.emb(cat)], 1)).squeeze(1)

    def training_step(self, batch, batch_idx):
        num, cat, y = batch
        loss = F.binary_cross_entropy_with_logits(self(num, cat), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss / self.hparams.accumulate

    def validation_step(self, batch, batch_idx):
        num, cat, y = batch
        logits = self(num, cat)
        self.log("val_loss", F.binary_cross_entropy_with_logits(logits, y), prog_bar=True)
        self.log("val_acc", ((logits > 0) == y.bool()).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9, weight_decay=1e-4)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.5)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "epoch"}}


class PrintMetrics(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        m = {k: round(float(v), 4) for k, v in trainer.callback_metrics.items()}
        print(trainer.current_epoch, trainer.global_step, m)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--accumulate", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=4)
    args = ap.parse_args()
    pl.seed_everything(0)
    train, val = random_split(churn_table(), [1536, 464])
    trainer = pl.Trainer(
        max_epochs=args.epochs, accumulate_grad_batches=args.accumulate, gradient_clip_val=1.0,
        accelerator="auto", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        callbacks=[PrintMetrics(), EarlyStopping("val_loss", patience=3)])
    trainer.fit(ChurnModel(args.lr, args.hidden, args.accumulate), DataLoader(train, 32, shuffle=True),
                DataLoader(val, 128))


if __name__ == "__main__":
    main()
