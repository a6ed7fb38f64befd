"""Lightning VAE on procedurally drawn glyphs."""
import argparse
import math

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def draw_glyphs(n, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx = torch.randint(5, size - 5, (n, 1, 1), generator=g)
    cy = torch.randint(5, size - 5, (n, 1, 1), generator=g)
    r = torch.rand(n, 1, 1, generator=g) * 2 + 2.5
    kind = torch.randint(2, (n, 1, 1), generator=g)
    d_round = ((xx - cx) ** 2 + (yy - cy) ** 2).float().sqrt()
    d_box = torch.maximum((xx - cx).abs(), (yy - cy).abs()).float()
    d = torch.where(kind == 0, d_round, d_box)
    return torch.sigmoid(4 * (r - d)).unsqueeze(1)


class GlyphData(L.LightningDataModule):
    def __init__(self, n_train=2048, n_val=512, batch_size=64):
        super().__init__()
        self.n_train, self.n_val, self.batch_size = n_train, n_val, batch_size

    def setup(self, stage=None):
        self.train_set = TensorDataset(draw_glyphs(self.n_train, seed=0))
        self.val_set = TensorDataset(draw_glyphs(self.n_val, seed=1))

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=256)


class LitVAE(L.LightningModule):
    def __init__(self, latent=8, width=24, lr=3e-3, beta=1.0, warmup_steps=30):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1), nn.SiLU(),
            nn.Conv2d(width, width, 4, 2, 1), nn.SiLU(),
            nn.Flatten(), nn.Linear(width * 16, 2 * latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, width * 16), nn.SiLU(), nn.Unflatten(1, (width, 4, 4)),
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.SiLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1),
        )

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.decoder(z), mu, logvar

    def _elbo(self, x):
        logits, mu, logvar = self(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1).mean()
        kl = (-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).sum(1).mean()
        return rec, kl

    def training_step(self, batch, batch_idx):
        rec, kl = self._elbo(batch[0])
        loss = rec + self.hparams.beta * kl
        self.log("train/loss", loss, on_step=False, on_epoch=True)
        self.log("train/kl", kl, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        rec, kl = self._elbo(batch[0])
        self.log("val/loss", rec + self.hparams.beta * kl)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-4)
        total = int(self.trainer.estimated_stepping_batches)
        warm = self.hparams.warmup_steps

        def factor(step):
            if step < warm:
                return (step + 1) / warm
            return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm) / max(1, total - warm))))

        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step", "name": "lr"},
        }


class PrintMetrics(L.Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        m = trainer.callback_metrics
        lr = trainer.optimizers[0].param_groups[0]["lr"]
        print(f"epoch {trainer.current_epoch:2d} train {m['train/loss']:.2f} kl {m['train/kl']:.2f} "
              f"val {m['val/loss']:.2f} lr {lr:.2e}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--latent", type=int, default=8)
    ap.add_argument("--beta", type=float, default=1.0)
    args = ap.parse_args()

    L.seed_everything(1, verbose=False)
    model = LitVAE(latent=args.latent, beta=args.beta)
    trainer = L.Trainer(
        max_epochs=args.epochs, accelerator="cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        num_sanity_val_steps=0, gradient_clip_val=50.0, callbacks=[PrintMetrics()],
    )
    trainer.fit(model, GlyphData())
    torch.save(model.state_dict(), "vae_glyphs.pt")


if __name__ == "__main__":
    main()
