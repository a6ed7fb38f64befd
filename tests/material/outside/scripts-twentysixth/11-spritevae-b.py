"""Variational auto-encoder on small grey sprites, with Lightning.

The archive holds one array `images` of shape (n, 24, 24), uint8.
"""
import argparse

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SpriteData(L.LightningDataModule):
    def __init__(self, path, batch_size):
        super().__init__()
        self.path, self.batch_size = path, batch_size

    def setup(self, stage=None):
        with np.load(self.path) as z:
            x = torch.from_numpy(z["images"]).float().div(255).unsqueeze(1)
        cut = int(0.85 * len(x))
        self.train_set, self.val_set = TensorDataset(x[:cut]), TensorDataset(x[cut:])

    def train_dataloader(self):
        return DataLoader(self.train_set, self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.batch_size)


class SpriteVAE(L.LightningModule):
    def __init__(self, latent=8, width=16, max_lr=3e-3, beta=0.5, weight_decay=1e-4):
        super().__init__()
        self.save_hyperparameters()
        self.enc = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 4, 2, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(2 * width * 36, 2 * latent),
        )
        self.dec = nn.Sequential(
            nn.Linear(latent, 2 * width * 36), nn.ReLU(), nn.Unflatten(1, (2 * width, 6, 6)),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1),
        )

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar

    def losses(self, x):
        logits, mu, logvar = self(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum() / len(x)
        return rec, kl

    def training_step(self, batch, _):
        rec, kl = self.losses(batch[0])
        self.log("kl", kl, prog_bar=False)
        return (rec + self.hparams.beta * kl) / batch[0][0].numel()

    def validation_step(self, batch, _):
        rec, kl = self.losses(batch[0])
        self.log("val_elbo", -(rec + kl), prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.max_lr, weight_decay=self.hparams.weight_decay)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt,
            max_lr=self.hparams.max_lr,
            total_steps=int(self.trainer.estimated_stepping_batches),
            pct_start=0.2,
        )
        return {
            "optimizer": opt,
            "lr_scheduler": {"scheduler": sched, "interval": "step"},
        }


class PrintEpoch(L.Callback):
    def on_validation_epoch_end(self, trainer, module):
        if trainer.sanity_checking:
            return
        lr = trainer.optimizers[0].param_groups[0]["lr"]
        elbo = trainer.callback_metrics["val_elbo"].item()
        print(f"epoch {trainer.current_epoch} step {trainer.global_step} lr {lr:.2e} val elbo {elbo:.2f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/sprites.npz")
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--accumulate", type=int, default=1)
    args = ap.parse_args()

    L.seed_everything(4)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        accelerator="auto",
        devices=1,
        accumulate_grad_batches=args.accumulate,
        gradient_clip_val=1.0,
        callbacks=[PrintEpoch()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(SpriteVAE(), datamodule=SpriteData(args.data, args.batch_size))


if __name__ == "__main__":
    main()
