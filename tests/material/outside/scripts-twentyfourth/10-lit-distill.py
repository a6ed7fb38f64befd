"""Distil a big digit classifier into a small one with Lightning.

digits.npz: x_train (N, 28, 28) uint8, y_train, x_test, y_test
teacher.ckpt: plain state dict written by train_teacher.py
"""
from argparse import ArgumentParser

import numpy as np
import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DigitsData(pl.LightningDataModule):
    def __init__(self, path, batch_size=64):
        super().__init__()
        self.path = path
        self.batch_size = batch_size

    def setup(self, stage=None):
        with np.load(self.path) as z:
            def pack(split):
                x = torch.from_numpy(z[f"x_{split}"]).float().div(255).unsqueeze(1)
                y = torch.from_numpy(z[f"y_{split}"].astype(np.int64))
                return TensorDataset((x - 0.1307) / 0.3081, y)

            self.train_set = pack("train")
            self.test_set = pack("test")

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.test_set, batch_size=256)


def make_teacher(width=256):
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(784, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 10),
    )


def make_student():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 5 * 5, 10),
    )


class Distiller(pl.LightningModule):
    def __init__(self, teacher_ckpt, lr=2e-3, temperature=4.0, alpha=0.7):
        super().__init__()
        self.save_hyperparameters()
        self.student = make_student()
        self.teacher = make_teacher()
        self.teacher.load_state_dict(torch.load(teacher_ckpt, map_location="cpu"))
        self.teacher.eval()
        self.teacher.requires_grad_(False)

    def forward(self, x):
        return self.student(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        T, a = self.hparams.temperature, self.hparams.alpha
        s_logits = self.student(x)
        t_logits = self.teacher(x)
        hard = F.cross_entropy(s_logits, y)
        soft = F.kl_div(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean") * T * T
        loss = (1 - a) * hard + a * soft
        self.log_dict({"train/hard": hard, "train/soft": soft}, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log("val/loss", F.cross_entropy(logits, y))
        self.log("val/acc", (logits.argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-2)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.trainer.estimated_stepping_batches)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def cli():
    parser = ArgumentParser()
    parser.add_argument("--data", default="data/digits.npz")
    parser.add_argument("--teacher", default="checkpoints/teacher.ckpt")
    parser.add_argument("--max-epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--export", default="student.pt")
    args = parser.parse_args()

    pl.seed_everything(17)
    data = DigitsData(args.data)
    model = Distiller(args.teacher, lr=args.lr)
    trainer = pl.Trainer(
        max_epochs=args.max_epochs,
        accelerator="auto",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(model, datamodule=data)
    print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})
    torch.save(model.state_dict(), args.export)


if __name__ == "__main__":
    cli()
